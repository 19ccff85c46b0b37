//! Tasks to follow up, records of the provider, and scripts up to a certain point.

use gatehouse_sdk::{Facts, MediaKind, Parent, Submission};
use gatehouse_testkit::{Script, picture};
use serde_json::{Value, json};

/// The provider's id of the task.
pub(crate) const ID: &str = "1754200000000123";
/// The provider's id of the parent.
pub(crate) const PARENT_ID: &str = "1754100000000007";
/// The gateway's id of the parent.
pub(crate) const TASK: &str = "task_01KDWFAMDV000000000000000B";
pub(crate) const PICTURE: &str = "https://pictures.example.com/a.png";
pub(crate) const GRID: &str = "https://cdn.discordapp.com/grid.png";

/// The buttons of a grid, in the provider's order.
pub(crate) fn grid_buttons() -> Vec<Value> {
    let ids = [
        ("U1", "MJ::JOB::upsample::1::aaaa"),
        ("U2", "MJ::JOB::upsample::2::aaaa"),
        ("U3", "MJ::JOB::upsample::3::aaaa"),
        ("U4", "MJ::JOB::upsample::4::aaaa"),
        ("", "MJ::JOB::reroll::0::aaaa::SOLO"),
        ("V1", "MJ::JOB::variation::1::aaaa"),
        ("V2", "MJ::JOB::variation::2::aaaa"),
        ("V3", "MJ::JOB::variation::3::aaaa"),
        ("V4", "MJ::JOB::variation::4::aaaa"),
    ];
    ids.into_iter().map(|(label, id)| button(id, label)).collect()
}

/// The buttons of an upscaled picture of version 7.
pub(crate) fn single_buttons() -> Vec<Value> {
    let ids = [
        "MJ::JOB::upsample_v7_2x_subtle::1::bbbb::SOLO",
        "MJ::JOB::upsample_v7_2x_creative::1::bbbb::SOLO",
        "MJ::JOB::low_variation::1::bbbb::SOLO",
        "MJ::JOB::high_variation::1::bbbb::SOLO",
        "MJ::Inpaint::1::bbbb::SOLO",
        "MJ::Outpaint::50::1::bbbb::SOLO",
        "MJ::Outpaint::75::1::bbbb::SOLO",
        "MJ::CustomZoom::1::bbbb",
        "MJ::JOB::pan_left::1::bbbb::SOLO",
        "MJ::JOB::pan_right::1::bbbb::SOLO",
        "MJ::JOB::pan_up::1::bbbb::SOLO",
        "MJ::JOB::pan_down::1::bbbb::SOLO",
        "MJ::BOOKMARK::bbbb",
    ];
    ids.into_iter().map(|id| button(id, "")).collect()
}

/// The buttons of an upscaled picture of version 8: neither zoom nor pan.
pub(crate) fn eight_buttons() -> Vec<Value> {
    let ids = [
        "MJ::JOB::low_variation::1::cccc::SOLO",
        "MJ::JOB::high_variation::1::cccc::SOLO",
        "MJ::Inpaint::1::cccc::SOLO",
        "MJ::JOB::remix_strong::1::cccc",
        "MJ::JOB::remix_subtle::1::cccc",
    ];
    ids.into_iter().map(|id| button(id, "")).collect()
}

pub(crate) fn button(id: &str, label: &str) -> Value {
    json!({"customId": id, "emoji": "", "label": label, "type": 2, "style": 2})
}

/// The private record of a completed task.
pub(crate) fn record(kind: &str, version: &str, buttons: &[Value]) -> Value {
    let is_grid = kind == "grid";
    let count = if is_grid { 4 } else { usize::from(kind != "text") };
    json!({
        "action": if is_grid { "imagine" } else { "upscale" },
        "status": "SUCCESS",
        "id": PARENT_ID,
        "version": if version.is_empty() { Value::Null } else { json!(version) },
        "prompt": "a red kite --ar 16:9 --v 7",
        "result": {"kind": kind, "count": count, "has_grid": is_grid, "buttons": buttons, "description": null},
        "picture": null,
    })
}

/// A completed task with that record; its media are blobs of 640x480 pixels.
pub(crate) fn parent(record: Value) -> Parent {
    let result = &record["result"];
    let count = result["count"].as_u64().unwrap_or(0) + u64::from(result["has_grid"] == json!(true));
    let media = (0..count).map(|number| picture(640, 480, &format!("blob:tile-{number}"))).collect();
    Parent { media, affinity: Some("account-7".to_owned()), ..Parent::new("journey", "journey", record) }
}

pub(crate) fn grid() -> Parent {
    parent(record("grid", "v7", &grid_buttons()))
}

pub(crate) fn single() -> Parent {
    parent(record("single", "v7", &single_buttons()))
}

/// An upscaled picture of version 8.1.
pub(crate) fn eight() -> Parent {
    parent(record("single", "v8.1", &eight_buttons()))
}

/// A request about a parent.
pub(crate) fn about(surface: &str, body: Value, parent: Parent) -> Submission {
    Submission { parents: vec![parent], ..Submission::new(surface, body) }
}

/// A PNG the host cut out of a request.
pub(crate) fn cut(width: u32, height: u32) -> Facts {
    picture(width, height, "blob:cut")
}

/// A file that is no picture.
pub(crate) fn film() -> Facts {
    Facts { blob: Some("blob:film".to_owned()), ..Facts::new(MediaKind::Video, "video/mp4", 1_000) }
}

/// The provider has taken a job.
pub(crate) fn taken() -> Value {
    json!({"code": 1, "description": "ok", "result": ID, "properties": {"discordInstanceId": "1118138338562560102"}})
}

/// The provider waits for a dialog.
pub(crate) fn dialog() -> Value {
    json!({"code": 21, "description": "Waiting for window confirm", "result": ID,
        "properties": {"finalPrompt": "", "remix": true}})
}

/// The record of the task at the provider.
pub(crate) fn remote(status: &str, progress: Value) -> Value {
    json!({"id": ID, "action": "IMAGINE", "status": status, "prompt": "a red kite --v 7", "promptEn": "a red kite --v 7",
        "description": "/imagine a red kite --v 7", "state": "", "submitTime": 1_754_200_000_000_i64, "startTime": null,
        "finishTime": null, "imageUrl": null, "progress": progress, "failReason": null, "properties": null,
        "buttons": null})
}

/// The same, finished, with `fields` over it.
pub(crate) fn finished(fields: Value) -> Value {
    let mut record = remote("SUCCESS", json!("100%"));
    record["imageUrl"] = json!(GRID);
    record["buttons"] = json!(grid_buttons());
    crate::over(record, fields)
}

/// Accepted and started; the call is out.
pub(crate) fn sent(request: Submission) -> Script {
    Script::new().submit_whole(request).expect_accepted(|_| ()).start().expect_call(|_| ())
}

/// A plain picture, taken by the provider; the first poll is out.
pub(crate) fn polled() -> Script {
    let request = Submission::new("journey.imagine", json!({"prompt": "a red kite", "version": "7"}));
    first_poll(sent(request))
}

/// The provider takes what was sent, and the first poll goes out.
pub(crate) fn first_poll(script: Script) -> Script {
    script.reply(200, taken()).expect_wait(|_| ()).timer().expect_call(|call| assert_eq!(call.method, "GET"))
}
