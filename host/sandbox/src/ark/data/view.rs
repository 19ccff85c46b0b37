//! A task as a poll shows it.

use serde_json::{Value, json};

use crate::ark::faults::Marker;
use crate::ark::files::link_query;
use crate::ark::provider::Provider;
use crate::ark::tasks::{ArkTask, Stage};
use crate::common::faults::Target;

/// Frames per second of every video.
const FRAMES: u64 = 24;
/// Status words that nobody knows.
const ODD_STATUS: [&str; 2] = ["polishing", "archiving"];

/// The task; `poll` is how many polls came before, which decides the odd status.
pub(crate) fn task(provider: &Provider, task: &ArkTask, now: u64, odd: Option<u32>) -> Value {
    let stage = task.stage(now);
    let ending = task.faults.fault(Target::Ending);
    let failure = match ending {
        _ if stage != Stage::Over => None,
        Some(Marker::OutputModerated) => Some("OutputVideoSensitiveContentDetected"),
        Some(Marker::OutputPolicy) => Some("OutputVideoSensitiveContentDetected.PolicyViolation"),
        Some(Marker::AudioModerated) => Some("OutputAudioSensitiveContentDetected"),
        Some(Marker::Failed) => Some("InternalServiceError"),
        _ => None,
    };
    let status = match (stage, ending) {
        _ if odd.is_some() => ODD_STATUS[odd.unwrap_or_default() as usize % ODD_STATUS.len()],
        (Stage::Queued, _) => "queued",
        (Stage::Running, _) => "running",
        (Stage::Cancelled, _) | (Stage::Over, Some(Marker::Cancelled)) => "cancelled",
        (Stage::Over, Some(Marker::Expired)) => "expired",
        (Stage::Over, _) if failure.is_some() => "failed",
        (Stage::Over, _) => "succeeded",
    };
    let sent = &task.record.body;
    let mut view = json!({
        "id": task.record.id, "model": sent["model"], "status": status, "created_at": task.record.at / 1000,
        "updated_at": now / 1000, "service_tier": "default",
        "execution_expires_after": sent["execution_expires_after"].as_u64().unwrap_or(172_800),
    });
    if let Some(code) = failure {
        view["error"] =
            json!({"code": code, "message": "The request failed for a reason of the simulation."});
    }
    if status == "succeeded" {
        add_result(provider, task, now, &mut view);
    }
    view
}

fn add_result(provider: &Provider, task: &ArkTask, now: u64, view: &mut Value) {
    let sent = &task.record.body;
    let frames = FRAMES * task.seconds + 1;
    let tokens = u64::from(task.film.width) * u64::from(task.film.height) * frames / 1024;
    view["usage"] = json!({"completion_tokens": tokens, "total_tokens": tokens});
    view["seed"] = task.seed.into();
    view["resolution"] = task.resolution.as_str().into();
    view["ratio"] = task.ratio.into();
    view["duration"] = task.seconds.into();
    view["framespersecond"] = FRAMES.into();
    view["generate_audio"] = task.film.sound.into();
    view["draft"] = false.into();
    view["content"] = json!({"video_url": link(provider, task, now, "mp4")});
    let wants_frame = sent["return_last_frame"].as_bool().unwrap_or_default();
    if wants_frame && !task.faults.has(Marker::NoLastFrame) {
        view["content"]["last_frame_url"] = link(provider, task, now, "png").into();
    }
}

/// A freshly signed link, or the faulty one its marker asks for.
fn link(provider: &Provider, task: &ArkTask, now: u64, kind: &str) -> String {
    let path = format!("/results/{}.{kind}", task.record.id);
    let fault = task.faults.fault(Target::File);
    let origin = match fault {
        Some(Marker::ForeignLink) => "https://files.foreign.example",
        Some(Marker::PrivateLink) => "http://169.254.169.254",
        _ => &provider.addresses.files,
    };
    let is_dead = fault == Some(Marker::DeadLink) || fault == Some(Marker::DeadFrame) && kind == "png";
    let until = provider.settings.link_end(now, is_dead);
    format!("{origin}{path}?{}", link_query(&provider.key, &path, until))
}
