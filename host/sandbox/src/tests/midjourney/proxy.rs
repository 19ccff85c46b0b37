//! Requests to the proxy, and its pictures.

use std::time::Duration;

use crate::midjourney::TaskRecord;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};

use crate::tests::client::{JSON, KEY, Response, TestSandbox, call, fetch};

/// How long a task takes in these tests.
pub(super) const RUN: Duration = Duration::from_secs(10);

pub(super) fn url(test: &TestSandbox, path: &str) -> String {
    format!("{}{path}", test.sandbox.midjourney().api)
}

/// Posts a body with the right secret; the reply, if any came.
pub(super) async fn post(test: &TestSandbox, path: &str, body: &Value) -> Option<Response> {
    call("POST", &url(test, path), &[("mj-api-secret", KEY), JSON], body.to_string()).await
}

/// Submits; the answer's body.
pub(super) async fn submit(test: &TestSandbox, route: &str, body: &Value) -> Value {
    post(test, &format!("/mj-fast/mj/submit/{route}"), body).await.expect("a reply").json()
}

/// Submits what is accepted; the task's id.
pub(super) async fn accepted(test: &TestSandbox, route: &str, body: &Value) -> String {
    let answer = submit(test, route, body).await;
    assert!(answer["code"] == 1 || answer["code"] == 21 || answer["code"] == 22, "{answer}");
    answer["result"].as_str().expect("an id").to_owned()
}

/// A grid of that prompt.
pub(super) async fn imagine(test: &TestSandbox, prompt: &str) -> String {
    accepted(test, "imagine", &json!({ "prompt": prompt })).await
}

pub(super) async fn read(test: &TestSandbox, id: &str) -> Response {
    let url = url(test, &format!("/mj/task/{id}/fetch"));
    call("GET", &url, &[("mj-api-secret", KEY)], "").await.expect("a reply")
}

/// The record of a task, as clients read it.
pub(super) async fn shown(test: &TestSandbox, id: &str) -> Value {
    let reply = read(test, id).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// The custom id of the button that begins so.
pub(super) async fn button(test: &TestSandbox, id: &str, prefix: &str) -> String {
    let task = shown(test, id).await;
    let buttons = task["buttons"].as_array().expect("buttons");
    let found =
        buttons.iter().filter_map(|button| button["customId"].as_str()).find(|id| id.starts_with(prefix));
    found.unwrap_or_else(|| panic!("no {prefix} in {task}")).to_owned()
}

/// Presses the button that begins so; the new task's id.
pub(super) async fn press(test: &TestSandbox, id: &str, prefix: &str) -> String {
    let custom_id = button(test, id, prefix).await;
    accepted(test, "action", &json!({ "taskId": id, "customId": custom_id })).await
}

/// The upscaled tile of a fresh grid.
pub(super) async fn single(test: &TestSandbox, prompt: &str, tile: usize) -> String {
    let grid = imagine(test, prompt).await;
    press(test, &grid, &format!("MJ::JOB::upsample::{tile}::")).await
}

/// What the provider remembers of a task.
pub(super) fn recorded(test: &TestSandbox, id: &str) -> TaskRecord {
    let tasks = test.sandbox.midjourney_record().tasks;
    tasks.into_iter().find(|task| task.id == id).expect("a task")
}

/// The picture of a finished task.
pub(super) async fn picture(test: &TestSandbox, id: &str) -> RgbImage {
    let task = shown(test, id).await;
    decoded(&fetch(task["imageUrl"].as_str().unwrap_or_else(|| panic!("no picture: {task}"))).await)
}

pub(super) fn decoded(reply: &Response) -> RgbImage {
    assert_eq!((reply.status, reply.header("content-type")), (200, "image/png"), "{}", reply.text());
    image::load_from_memory_with_format(&reply.body, ImageFormat::Png).expect("a PNG").to_rgb8()
}

/// A picture of one colour, as data URI.
pub(super) fn uri(width: u32, height: u32, colour: [u8; 3]) -> String {
    let mut file = std::io::Cursor::new(Vec::new());
    RgbImage::from_pixel(width, height, image::Rgb(colour))
        .write_to(&mut file, ImageFormat::Png)
        .expect("a PNG");
    format!("data:image/png;base64,{}", STANDARD.encode(file.into_inner()))
}
