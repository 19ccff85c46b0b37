//! The record of a task as clients read it: camelCase names, nulls where nothing is known.

use serde_json::{Value, json};

use crate::common::faults::Target;
use crate::common::shared::SigningKey;
use crate::midjourney::engine::buttons::{self, Kind};
use crate::midjourney::faults::Marker;
use crate::midjourney::link::{path, query};
use crate::midjourney::refusal::instance;
use crate::midjourney::tasks::task::{Phase, Task};

/// Status words outside the protocol.
const ODD_WORDS: [&str; 3] = ["PREPARING", "RENDERING", "waiting"];
/// What the chat shows while a picture is drawn.
const ODD_PROGRESS: [&str; 4] = ["Waiting to start", "(35%) (fast)", "62", "paused"];

/// What links are made of.
pub(crate) struct Links<'a> {
    pub(crate) files: &'a str,
    pub(crate) key: &'a SigningKey,
    pub(crate) now: u64,
}

impl Links<'_> {
    /// A link to a file of the task, or the faulty one its marker asks for.
    fn to(&self, task: &Task, name: &str) -> String {
        let fault = task.faults.fault(Target::Link);
        let path = path(&task.record.id, name);
        let (host, is_dead) = match fault {
            Some(Marker::PrivateLink) => return format!("http://169.254.169.254{path}"),
            Some(Marker::ForeignLink) => ("https://cdn.foreign.example", false),
            Some(_) => (self.files, true),
            None => (self.files, false),
        };
        format!("{host}{path}?{}", query(self.key, &path, self.now, is_dead))
    }
}

/// The record at this moment.
pub(crate) fn task(task: &Task, links: &Links<'_>, now: u64) -> Value {
    let record = &task.record;
    let phase = task.phase(now);
    let (status, progress) = status(task, phase);
    let (start, finish) = task.times(now);
    let is_shown =
        matches!(phase, Phase::NotStarted | Phase::Submitted | Phase::InProgress(_) | Phase::Success);
    let reason = match phase {
        Phase::Failure => task.failure.as_deref().filter(|reason| !reason.is_empty()),
        _ => None,
    };
    let mut shown = json!({
        "id": record.id,
        "action": task.action,
        "status": status,
        "prompt": record.prompt,
        "promptEn": task.final_prompt,
        "description": task.description,
        "state": task.state.clone().unwrap_or_default(),
        "submitTime": record.at,
        "startTime": start,
        "finishTime": finish,
        "imageUrl": null,
        "progress": progress,
        "failReason": reason,
        "properties": {
            "finalPrompt": task.final_prompt,
            "finalZhPrompt": "",
            "messageId": record.id,
            "messageHash": task.hash,
            "nonce": record.id,
            "flags": 0,
            "notifyHook": null,
            "discordInstanceId": instance(record.account),
            "botType": task.bot,
        },
        "buttons": [],
        "imageUrls": null,
        "videoUrl": null,
        "videoUrls": null,
        "imageWidth": null,
        "imageHeight": null,
        "mode": record.mode,
        "botType": task.bot,
        "customId": record.custom_id,
        "maskBase64": null,
        "seed": null,
        "jobId": task.hash,
        "parentId": record.parent,
        "version": task.version.to_string(),
        "videoType": task.video_type,
        "thumbnailUrl": null,
    });
    if let Some(texts) = task.texts.as_ref().filter(|_| phase == Phase::Success) {
        let text = crate::midjourney::engine::prompt::paragraphs(texts);
        for pointer in ["/prompt", "/promptEn", "/properties/finalPrompt"] {
            if let Some(field) = shown.pointer_mut(pointer) {
                *field = text.clone().into();
            }
        }
    }
    if is_shown {
        show_files(&mut shown, task, links, phase);
    }
    shown
}

fn show_files(shown: &mut Value, task: &Task, links: &Links<'_>, phase: Phase) {
    let Phase::Success = phase else {
        if let (Phase::InProgress(20..), Kind::Grid | Kind::Single | Kind::LargeSingle) = (phase, task.kind) {
            shown["imageUrl"] = links.to(task, "preview.png").into();
        }
        return;
    };
    if !task.faults.has(Marker::NoButtons) {
        shown["buttons"] = buttons::shown(task.kind, task.version, &task.hash);
    }
    if task.faults.has(Marker::NoPicture) {
        return;
    }
    let (width, height) = task.record.size;
    let (columns, rows) = task.tiles();
    let tile = |at: usize| {
        let (url, thumbnail) = (links.to(task, &format!("tile_{at}.png")), links.to(task, "preview.png"));
        json!({ "url": url, "thumbnail": thumbnail })
    };
    match task.kind {
        Kind::Films(_) | Kind::Film => {
            let films: Vec<Value> = (1..=task.hues.len())
                .map(|at| {
                    let (film, frame) = (format!("video_{at}.mp4"), format!("tile_{at}.png"));
                    json!({ "url": links.to(task, &film), "thumbnail": links.to(task, &frame) })
                })
                .collect();
            shown["imageUrl"] = films[0]["url"].clone();
            shown["videoUrl"] = films[0]["url"].clone();
            shown["thumbnailUrl"] = films[0]["thumbnail"].clone();
            shown["imageUrls"] = films.clone().into();
            shown["videoUrls"] = films.into();
        }
        Kind::Texts => shown["imageUrl"] = links.to(task, "tile_1.png").into(),
        Kind::Grid | Kind::Single | Kind::LargeSingle => {
            shown["imageUrl"] = links.to(task, "picture.png").into();
            if task.faults.has(Marker::Links) {
                shown["imageUrls"] = (1..=task.hues.len()).map(tile).collect();
            }
        }
    }
    shown["imageWidth"] = (width * columns).into();
    shown["imageHeight"] = (height * rows).into();
}

fn status(task: &Task, phase: Phase) -> (&'static str, Value) {
    let (status, progress) = match phase {
        Phase::NotStarted => ("NOT_START", Value::Null),
        Phase::Modal => ("MODAL", Value::Null),
        Phase::Submitted => ("SUBMITTED", "0%".into()),
        Phase::InProgress(percent) => ("IN_PROGRESS", format!("{percent}%").into()),
        Phase::Success => ("SUCCESS", "100%".into()),
        Phase::Failure => ("FAILURE", "".into()),
        Phase::Cancelled => ("CANCEL", "".into()),
    };
    let progress = match phase {
        Phase::Submitted | Phase::InProgress(_) if task.faults.has(Marker::NoProgress) => Value::Null,
        Phase::Submitted | Phase::InProgress(_) if task.faults.has(Marker::OddProgress) => {
            ODD_PROGRESS[task.reads as usize % ODD_PROGRESS.len()].into()
        }
        _ => progress,
    };
    (status, progress)
}

/// The record under a fault of its status.
pub(crate) fn odd(mut shown: Value, fault: Marker, earlier: u32) -> Value {
    if fault == Marker::EmptyStatus {
        shown["status"] = "".into();
        shown["progress"] = Value::Null;
        shown["imageUrl"] = Value::Null;
        for time in ["submitTime", "startTime", "finishTime"] {
            shown[time] = Value::Null;
        }
    } else {
        shown["status"] = ODD_WORDS[earlier as usize % ODD_WORDS.len()].into();
        shown["imageUrl"] = Value::Null;
    }
    shown["buttons"] = json!([]);
    shown
}
