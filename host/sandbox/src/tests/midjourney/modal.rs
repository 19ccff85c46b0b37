//! The modal: masks, prompts, its states, its time limit.

use std::time::Duration;

use serde_json::json;

use super::proxy::{
    RUN, accepted, button, imagine, picture, post, press, recorded, shown, single, submit, uri,
};
use crate::tests::client::TestSandbox;

#[tokio::test]
async fn an_inpaint_waits_for_its_modal_under_the_same_id() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a red kite --v 7", 2).await;
    let custom_id = button(&test, &up, "MJ::Inpaint").await;
    let answer = submit(&test, "action", &json!({ "taskId": up, "customId": custom_id })).await;
    assert_eq!((&answer["code"], &answer["description"]), (&json!(21), &json!("Waiting for window confirm")));
    assert_eq!(answer["properties"], json!({ "finalPrompt": "", "remix": true }));
    let id = answer["result"].as_str().expect("an id");
    test.advance(Duration::from_mins(29));
    let waiting = shown(&test, id).await;
    assert_eq!(
        (&waiting["status"], &waiting["prompt"], &waiting["progress"]),
        (&json!("MODAL"), &json!(""), &json!(null))
    );

    let painted =
        json!({ "taskId": id, "prompt": "a blue door", "maskBase64": uri(512, 512, [255, 255, 255]) });
    let done = submit(&test, "modal", &painted).await;
    assert_eq!((&done["code"], &done["result"]), (&json!(1), &json!(id)));
    let over = shown(&test, id).await;
    assert_eq!((&over["status"], &over["prompt"]), (&json!("SUCCESS"), &json!("a blue door")));
    let kept = recorded(&test, id);
    assert_eq!((kept.modals, kept.colours[0]), (1, recorded(&test, &up).colours[0]));
    assert_eq!(kept.modal.expect("a modal")["maskBase64"]["repainted"], 100);
    assert_eq!(picture(&test, id).await.width(), 1024, "a grid");
    assert_eq!(submit(&test, "modal", &painted).await["code"], 4, "a modal comes once");
}

#[tokio::test]
async fn masks_and_prompts_are_judged() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a red kite --v 7", 1).await;
    let inpaint = async || press(&test, &up, "MJ::Inpaint").await;
    for (prompt, masked, code, status, reason) in [
        ("", Some(uri(512, 512, [0, 0, 0])), 1, "SUCCESS", ""),
        ("a door", None, 1, "SUCCESS", ""),
        ("a door", Some(uri(511, 512, [0, 0, 0])), 1, "FAILURE", "512x512"),
        ("a door --ar 1", None, 1, "FAILURE", "--ar 1"),
        ("a door", Some("data:image/png;base64,AAAA".to_owned()), 4, "MODAL", ""),
        ("a door", Some(uri(512, 512, [0, 0, 0]).replace("image/png", "image/jpeg")), 4, "MODAL", ""),
        ("[[9]]", None, 9, "MODAL", ""),
        ("[[9:1]]", None, 9, "MODAL", ""),
    ] {
        let id = inpaint().await;
        let answer =
            submit(&test, "modal", &json!({ "taskId": id, "prompt": prompt, "maskBase64": masked })).await;
        let task = shown(&test, &id).await;
        assert_eq!((&answer["code"], &task["status"]), (&json!(code), &json!(status)), "{prompt}: {answer}");
        assert!(task["failReason"].as_str().unwrap_or_default().contains(reason), "{task}");
        if prompt.is_empty() {
            assert_eq!(task["prompt"], "a red kite --v 7", "inherited");
        }
    }
    let id = inpaint().await;
    let again = json!({ "taskId": id, "prompt": "a door [[3:1]]" });
    assert_eq!(submit(&test, "modal", &again).await["code"], 3);
    assert_eq!(submit(&test, "modal", &again).await["code"], 1, "a refused modal leaves the task as it was");
}

/// Without it a task is lost, or goes on with what it was refused.
#[tokio::test]
async fn a_refused_modal_leaves_the_task_as_it_was() {
    let test = TestSandbox::with(|settings| (settings.job_time, settings.max_in_flight) = (RUN, 1)).await;
    let grid = imagine(&test, "a red kite --v 7").await;
    test.advance(RUN);
    let up = press(&test, &grid, "MJ::JOB::upsample::1::").await;
    test.advance(RUN);
    let id = press(&test, &up, "MJ::Inpaint").await;
    let waiting = (shown(&test, &id).await, recorded(&test, &id));
    // One that runs, and ten that wait for it.
    for number in 0..11 {
        imagine(&test, &format!("kite {number}")).await;
    }
    let door = json!({
        "taskId": id, "prompt": "a door --v 6.1 [[3:1]]", "maskBase64": uri(511, 512, [0, 0, 0]),
    });
    for code in [3, 9] {
        let answer = post(&test, "/mj-turbo/mj/submit/modal", &door).await.expect("a reply").json();
        assert_eq!(answer["code"], code, "{answer}");
        let mut after = recorded(&test, &id);
        after.fetches = waiting.1.fetches;
        assert_eq!((shown(&test, &id).await, after), waiting);
    }
    test.advance(12 * RUN);
    accepted(&test, "modal", &json!({ "taskId": id })).await;
    test.advance(RUN);
    let over = shown(&test, &id).await;
    assert_eq!((&over["status"], &over["prompt"]), (&json!("SUCCESS"), &json!("a red kite --v 7")));
    assert_eq!((&over["version"], recorded(&test, &id).modals), (&waiting.0["version"], 1));
}

#[tokio::test]
async fn a_custom_zoom_needs_its_flag() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a red kite --v 7", 1).await;
    for (prompt, status) in [("a red kite --zoom 1.8", "SUCCESS"), ("a red kite", "FAILURE")] {
        let id = press(&test, &up, "MJ::CustomZoom").await;
        accepted(&test, "modal", &json!({ "taskId": id, "prompt": prompt })).await;
        assert_eq!(shown(&test, &id).await["status"], status, "{prompt}");
    }
}

#[tokio::test]
async fn modals_come_in_time_for_tasks_that_wait() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a red kite --v 7", 1).await;
    let late = press(&test, &up, "MJ::Inpaint").await;
    test.advance(Duration::from_mins(61));
    assert_eq!(submit(&test, "modal", &json!({ "taskId": late })).await["code"], 4);
    let over = shown(&test, &late).await;
    assert_eq!((&over["status"], &over["failReason"]), (&json!("FAILURE"), &json!("任务提交超时")));
    assert_eq!(submit(&test, "modal", &json!({ "taskId": up })).await["code"], 4, "it does not wait");
    assert_eq!(submit(&test, "modal", &json!({ "taskId": "17" })).await["code"], 3);
    assert_eq!(submit(&test, "modal", &json!({})).await["code"], 4);
}

#[tokio::test]
async fn a_remix_opens_a_modal() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a red kite --v 8.1", 4).await;
    let custom_id = button(&test, &up, "MJ::JOB::remix_subtle").await;
    let body = json!({ "taskId": up, "customId": custom_id, "enableRemix": true });
    let id = accepted(&test, "action", &body).await;
    assert_eq!(shown(&test, &id).await["status"], "MODAL");
    accepted(&test, "modal", &json!({ "taskId": id, "prompt": "a green kite --v 8.1" })).await;
    assert_eq!(shown(&test, &id).await["status"], "SUCCESS");
}
