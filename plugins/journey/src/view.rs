//! `GET /v1/journey/{task_id}`: a task with its links and buttons, as the bare object of the specification's users.

use gatehouse_sdk::{Status as TaskStatus, TaskView};
use serde_json::{Map, Value, json};

use crate::record::{Completed, Kind, Record, Status};

pub(crate) fn render(view: &TaskView) -> Value {
    let record = Record::of(&view.task);
    let record = record.as_ref();
    let mut body = Map::new();
    body.insert("id".to_owned(), json!(view.task.task));
    body.insert("status".to_owned(), json!(status(view.task.status, record)));
    body.insert("progress".to_owned(), json!(format!("{}%", view.progress)));
    match record {
        Some(record) => of_record(&mut body, view, record),
        None => drop(body.insert("buttons".to_owned(), json!([]))),
    }
    if let Some(failure) = &view.failure {
        body.insert("fail_reason".to_owned(), json!(failure.message));
    }
    times(&mut body, view);
    let cost = view.cost.as_deref().and_then(|cost| serde_json::from_str::<Value>(cost).ok());
    if let Some(cost) = cost.filter(Value::is_number) {
        body.insert("cost".to_owned(), cost.clone());
        body.insert("credits_cost".to_owned(), cost);
    }
    Value::Object(body)
}

fn of_record(body: &mut Map<String, Value>, view: &TaskView, record: &Record) {
    body.insert("action".to_owned(), json!(record.action.shown()));
    if !record.prompt.is_empty() {
        body.insert("prompt".to_owned(), json!(record.prompt));
    }
    let buttons = record.result.as_ref().map(|result| result.buttons.as_slice()).unwrap_or_default();
    body.insert("buttons".to_owned(), json!(buttons));
    if !record.note.is_null() {
        body.insert("metadata".to_owned(), json!(record.note));
    }
    match (view.task.status, &record.result) {
        (TaskStatus::Completed, Some(result)) => links(body, result, &record.prompt),
        (TaskStatus::Completed | TaskStatus::Failed, _) => {}
        _ if record.status == Status::Modal => waiting(body, view, record),
        _ => {}
    }
}

/// The tile that the client may paint on, and why its last request could not be used.
fn waiting(body: &mut Map<String, Value>, view: &TaskView, record: &Record) {
    if let Some(problem) = &record.problem {
        body.insert("fail_reason".to_owned(), json!(problem));
    }
    if let Some(images) = view.task.public["images"][0]["url"].as_array() {
        body.insert("image_urls".to_owned(), json!(images));
    }
}

fn times(body: &mut Map<String, Value>, view: &TaskView) {
    body.insert("created".to_owned(), json!(view.created.0 / 1000));
    if let Some(ended) = view.ended {
        body.insert("completed".to_owned(), json!(ended.0 / 1000));
        // Rounded up, as `GET /v1/tasks/{task_id}` has it.
        let span = ended.since(view.created);
        let begun = u64::from(span.subsec_nanos() > 0);
        body.insert("actual_time".to_owned(), json!(span.as_secs() + begun));
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

fn links(body: &mut Map<String, Value>, result: &Completed, prompt: &str) {
    let all: Vec<_> = (0..result.count).map(|number| format!("media:{number}")).collect();
    match result.kind {
        Kind::Text => {
            body.insert("description".to_owned(), json!(prompt));
        }
        Kind::Films => {
            body.insert("video_url".to_owned(), json!(all.first()));
            body.insert("video_urls".to_owned(), json!(all));
        }
        Kind::Grid | Kind::Single => {
            body.insert("image_urls".to_owned(), json!(all));
        }
    }
    if result.has_grid {
        body.insert("grid_image_url".to_owned(), json!(format!("media:{}", result.count)));
    }
    if let Some(description) = &result.description
        && result.kind != Kind::Text
    {
        body.insert("description".to_owned(), json!(description));
    }
}
