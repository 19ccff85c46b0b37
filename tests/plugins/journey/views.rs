//! `GET /v1/journey/{task_id}`, and polling by list.

use gatehouse_sdk::{Context, Failure, Parent, Replay, Reply, Status, Target, TaskView, UnixMs};
use journey::Journey;
use serde_json::{Value, json};

use crate::journey::COMPONENT;
use crate::journey::support::{TASK, finished, grid_buttons, record, remote};

const CREATED: UnixMs = UnixMs(1_754_200_000_400);

fn cx() -> Context {
    Context::at(CREATED)
}

fn view(private: Value, status: Status) -> TaskView {
    TaskView {
        task: Parent::new("journey", "journey", private).status(status),
        progress: 35,
        created: CREATED,
        ended: None,
        failure: None,
        cost: None,
    }
}

fn ended(private: Value) -> TaskView {
    TaskView {
        progress: 100,
        ended: Some(UnixMs(CREATED.0 + 41_900)),
        cost: Some("4.5".to_owned()),
        ..view(private, Status::Completed)
    }
}

fn shown(view: &TaskView) -> Value {
    COMPONENT.view::<Journey>(&cx(), "journey.read", view)
}

fn living(status: &str) -> Value {
    json!({"action": "inpaint", "status": status, "id": "1", "version": null, "prompt": "a red kite", "result": null,
        "picture": null})
}

#[test]
fn a_living_task_has_the_providers_status() {
    for status in ["NOT_START", "SUBMITTED", "IN_PROGRESS", "MODAL"] {
        let expected = json!({"id": TASK, "status": status, "action": "INPAINT", "progress": "35%", "buttons": [],
            "prompt": "a red kite", "created": 1_754_200_000});
        assert_eq!(shown(&view(living(status), Status::Processing)), expected);
    }
    let fresh = json!({"id": TASK, "status": "NOT_START", "progress": "35%", "buttons": [], "created": 1_754_200_000});
    assert_eq!(shown(&view(Value::Null, Status::Submitted)), fresh);
}

/// Without it a client could not see what it is to paint on, nor why its last request did nothing.
#[test]
fn a_task_in_modal_shows_the_reason_and_the_tile() {
    let mut private = living("MODAL");
    private["problem"] = json!("`mask_url`: could not be fetched: no");
    private["note"] = json!({"order": 7});
    let mut waiting = view(private, Status::Processing);
    waiting.task.public =
        json!({"waiting_for": "modal", "images": [{"url": ["media:0"], "expires_at": "expires:0"}]});
    let body = shown(&waiting);
    assert_eq!(
        (&body["status"], &body["fail_reason"], &body["image_urls"], &body["metadata"]),
        (
            &json!("MODAL"),
            &json!("`mask_url`: could not be fetched: no"),
            &json!(["media:0"]),
            &json!({"order": 7})
        )
    );
}

#[test]
fn a_grid_has_tiles_grid_and_buttons() {
    let mut private = record("grid", "v7", &grid_buttons());
    private["result"]["description"] = json!("/imagine a red kite");
    let expected = json!({"id": TASK, "status": "SUCCESS", "action": "IMAGINE", "progress": "100%",
        "grid_image_url": "media:4", "image_urls": ["media:0", "media:1", "media:2", "media:3"],
        "buttons": grid_buttons(), "prompt": "a red kite --ar 16:9 --v 7", "description": "/imagine a red kite",
        "created": 1_754_200_000, "completed": 1_754_200_042, "actual_time": 42, "cost": 4.5, "credits_cost": 4.5});
    assert_eq!(shown(&ended(private)), expected);
}

#[test]
fn other_kinds_have_their_own_fields() {
    let single = shown(&ended(record("single", "v7", &[])));
    assert_eq!((&single["image_urls"], &single["grid_image_url"]), (&json!(["media:0"]), &Value::Null));
    let mut films = record("films", "", &[]);
    films["result"]["count"] = json!(2);
    let films = shown(&ended(films));
    assert_eq!(
        (&films["video_url"], &films["video_urls"]),
        (&json!("media:0"), &json!(["media:0", "media:1"]))
    );
    assert_eq!(films["image_urls"], Value::Null);
    let mut text = record("text", "", &[]);
    text["prompt"] = json!("1 a kite");
    let text = shown(&ended(text));
    assert_eq!((&text["prompt"], &text["description"]), (&json!("1 a kite"), &json!("1 a kite")));
    assert_eq!(text["image_urls"], Value::Null);
}

#[test]
fn a_failed_task_says_why() {
    for reason in ["Banned prompt detected", "Task timeout", "No available upstream"] {
        let failed = TaskView {
            failure: Some(Failure::upstream(reason)),
            ended: Some(UnixMs(CREATED.0 + 1_000)),
            cost: Some("0".to_owned()),
            ..view(living("MODAL"), Status::Failed)
        };
        let body = shown(&failed);
        assert_eq!((&body["status"], &body["fail_reason"]), (&json!("FAILURE"), &json!(reason)));
        assert_eq!((&body["action"], &body["cost"]), (&json!("INPAINT"), &json!(0)));
    }
}

fn items(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn polls_of_many_tasks_become_one_list() {
    let call = COMPONENT.merge::<Journey>(&cx(), "tasks", &items(&["1", "2"]));
    assert_eq!(call.target, Target::Path("/mj/task/list-by-condition".to_owned()));
    assert_eq!(
        (call.method.as_str(), call.provider.as_str(), call.replay),
        ("POST", "midjourney", Replay::Safe)
    );
    assert_eq!(call.json_body(), json!({"ids": ["1", "2"]}));
}

fn split(ids: &[&str], reply: &Reply) -> Vec<Option<Value>> {
    let parts = COMPONENT.split::<Journey>(&cx(), "tasks", &items(ids), reply);
    parts
        .into_iter()
        .map(|part| part.map(|part| part.json().unwrap_or_else(|_| json!(part.status))))
        .collect()
}

#[test]
fn each_task_gets_its_record_out_of_the_list() {
    let named = |id: Value, record: Value| {
        let mut record = record;
        record["id"] = id;
        record
    };
    let (one, two) =
        (named(json!("1"), remote("IN_PROGRESS", json!("5%"))), named(json!(2), finished(json!({}))));
    let list = Reply::new(200, &json!([two, one, {"id": null}, 7]));
    assert_eq!(split(&["1", "2", "3"], &list), [Some(one), Some(two), None]);
    for no_list in [
        Reply::raw(200, ""),
        Reply::new(200, &Value::Null),
        Reply::new(200, &json!({})),
        Reply::new(404, &json!({})),
    ] {
        assert_eq!(split(&["1", "2"], &no_list), [None, None], "each asks for itself");
    }
    for status in [429, 503] {
        let parts =
            COMPONENT.split::<Journey>(&cx(), "tasks", &items(&["1", "2"]), &Reply::new(status, &json!({})));
        assert!(parts.iter().all(|part| part.as_ref().is_some_and(|part| part.status == status)));
    }
}

/// The host lists up to 5,000 tasks in one call, and splits the answer within the processor time of one call.
#[test]
fn a_list_of_thousands_is_split_in_time() {
    let ids: Vec<String> = (0..2_000).map(|number| format!("17542{number:011}")).collect();
    let record = |id: &String| {
        let mut record = remote("IN_PROGRESS", json!("5%"));
        record["id"] = json!(id);
        record
    };
    let list: Vec<Value> = ids.iter().rev().map(record).collect();
    let parts = COMPONENT.split::<Journey>(&cx(), "tasks", &ids, &Reply::new(200, &json!(list)));
    assert_eq!(parts.len(), ids.len());
    for (id, part) in ids.iter().zip(parts) {
        let part: Value = part.expect("every task is in the list").json().expect("a record");
        assert_eq!(part["id"], json!(id));
    }
}
