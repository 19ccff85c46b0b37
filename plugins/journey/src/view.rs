//! `GET /v1/journey/{task_id}`: a task with its links and buttons, as the bare object of the specification's users.

use gatehouse_sdk::{Status as TaskStatus, TaskView};
use serde_json::{Value, json};

use crate::record::{Completed, Kind, Record, Status};

pub(crate) fn render(view: &TaskView) -> Value {
    let record = Record::of(&view.task);
    let record = record.as_ref();
    let mut body = json!({
        "id": view.task.task,
        "status": status(view.task.status, record),
        "progress": format!("{}%", view.progress),
    });
    match record {
        Some(record) => of_record(&mut body, view, record),
        None => body["buttons"] = json!([]),
    }
    if let Some(failure) = &view.failure {
        body["fail_reason"] = json!(failure.message);
    }
    times(&mut body, view);
    let cost = view.cost.as_deref().and_then(|cost| serde_json::from_str::<Value>(cost).ok());
    if let Some(cost) = cost.filter(Value::is_number) {
        body["cost"] = cost.clone();
        body["credits_cost"] = cost;
    }
    body
}

fn of_record(body: &mut Value, view: &TaskView, record: &Record) {
    body["action"] = json!(record.action.shown());
    if !record.prompt.is_empty() {
        body["prompt"] = json!(record.prompt);
    }
    let buttons = record.result.as_ref().map(|result| result.buttons.as_slice()).unwrap_or_default();
    body["buttons"] = json!(buttons);
    if !record.note.is_null() {
        body["metadata"] = json!(record.note);
    }
    match (view.task.status, &record.result) {
        (TaskStatus::Completed, Some(result)) => links(body, result, &record.prompt),
        (TaskStatus::Completed | TaskStatus::Failed, _) => {}
        _ if record.status == Status::Modal => waiting(body, view, record),
        _ => {}
    }
}

/// The tile that the client may paint on, and why its last request could not be used.
fn waiting(body: &mut Value, view: &TaskView, record: &Record) {
    if let Some(problem) = &record.problem {
        body["fail_reason"] = json!(problem);
    }
    if let Some(images) = view.task.public["images"][0]["url"].as_array() {
        body["image_urls"] = json!(images);
    }
}

fn times(body: &mut Value, view: &TaskView) {
    body["created"] = json!(view.created.0 / 1000);
    if let Some(ended) = view.ended {
        body["completed"] = json!(ended.0 / 1000);
        // Rounded up, as `GET /v1/tasks/{task_id}` has it.
        let span = ended.since(view.created);
        let begun = u64::from(span.subsec_nanos() > 0);
        body["actual_time"] = json!(span.as_secs() + begun);
    }
}

fn status(task: TaskStatus, record: Option<&Record>) -> Value {
    match (task, record) {
        (TaskStatus::Failed, _) => json!("FAILURE"),
        (TaskStatus::Completed, _) => json!(Status::Success),
        (_, Some(record)) => json!(record.status),
        (_, None) => json!(Status::NotStart),
    }
}

fn links(body: &mut Value, result: &Completed, prompt: &str) {
    let all: Vec<_> = (0..result.count).map(|number| format!("media:{number}")).collect();
    match result.kind {
        Kind::Text => body["description"] = json!(prompt),
        Kind::Films => {
            body["video_url"] = json!(all.first());
            body["video_urls"] = json!(all);
        }
        Kind::Grid | Kind::Single => body["image_urls"] = json!(all),
    }
    if result.has_grid {
        body["grid_image_url"] = json!(format!("media:{}", result.count));
    }
    if let Some(description) = &result.description
        && result.kind != Kind::Text
    {
        body["description"] = json!(description);
    }
}
