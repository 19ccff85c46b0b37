//! Answers to polls: what an operation says of itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use serde_json::{Value, json};

use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{self, Body};
use crate::veo::api::files::VideoFile;
use crate::veo::faults::{Marker, error};
use crate::veo::operations::{Operation, file_name};
use crate::veo::provider::Provider;
use crate::veo::refusal::html;
use gatehouse_sandbox_files::Film;

/// Answers a poll of an account.
pub(super) async fn answer(provider: &Provider, account: usize, name: &str) -> Response<Body> {
    match state(provider, account, name) {
        State::Now(response) => response,
        // Films take a while to make, and no lock is held meanwhile.
        State::Inline { mut body, film, file, samples } => {
            let bytes = tokio::task::spawn_blocking(move || STANDARD.encode(file.bytes(film))).await;
            let Ok(bytes) = bytes else { return error(Marker::Broken).response() };
            let video = json!({ "bytesBase64Encoded": bytes, "mimeType": "video/mp4" });
            body["response"]["videos"] = json!(vec![video; samples]);
            server::json(200, &body)
        }
    }
}

enum State {
    Now(Response<Body>),
    /// Videos go inside.
    Inline {
        body: Value,
        film: Film,
        file: VideoFile,
        samples: usize,
    },
}

fn state(provider: &Provider, account: usize, name: &str) -> State {
    let now = provider.now();
    let mut operations = provider.table();
    let Some(operation) = operations.own(name, account) else {
        return State::Now(error(Marker::PollUnknown).response());
    };
    let is_over = operation.ends_at.is_some_and(|end| end <= now);
    State::Now(match operation.faults.poll_fault(count(&mut operation.record.polls)) {
        Some(Marker::PollMalformed) => {
            server::reply(200, "application/json", format!("{{\"name\":\"{name}\",\"don"))
        }
        Some(Marker::PollUnavailable) => html(),
        Some(Marker::PollExplicit) => server::json(200, &json!({ "name": name, "done": false })),
        Some(Marker::PollHollow) => server::json(200, &json!({ "name": name, "done": true })),
        Some(fault) => error(fault).response(),
        None if is_over => return ended(operation),
        None => server::json(200, &json!({ "name": name })),
    })
}

fn ended(operation: &Operation) -> State {
    let name = &operation.record.name;
    let ending = operation.faults.at(Target::Ending);
    let filtered = match ending {
        Some((Marker::Filtered, _)) => operation.samples,
        Some((Marker::SomeFiltered, some)) => {
            usize::try_from(some).unwrap_or(usize::MAX).min(operation.samples)
        }
        Some((Marker::NoVideo, _)) | None => 0,
        Some((fault, _)) => {
            let body = json!({ "name": name, "done": true, "error": error(fault).in_operation() });
            return State::Now(server::json(200, &body));
        }
    };
    let is_empty = matches!(ending, Some((Marker::NoVideo, _)));
    let samples = if is_empty { 0 } else { operation.samples - filtered };
    let mut response = json!({ "raiMediaFilteredCount": filtered });
    if filtered > 0 {
        let reason = "The video was filtered because of the usage guidelines. Support codes: 56562880";
        response["raiMediaFilteredReasons"] = json!([reason]);
    }
    let id = name.rsplit('/').next().unwrap_or_default();
    let is_foreign = operation.faults.has(Marker::ForeignLink);
    let uris = (0..samples).map(|at| match is_foreign {
        true => "https://files.foreign.example/sample_0.mp4".to_owned(),
        false => file_name(operation, id, at),
    });
    let wrapped = |response: Value| json!({ "name": name, "done": true, "response": response });
    response["@type"] = "type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse".into();
    if operation.storage.is_none() && samples > 0 {
        let (film, file) = (operation.film, VideoFile::of(&operation.faults));
        return State::Inline { body: wrapped(response), film, file, samples };
    }
    let videos: Vec<Value> = uris.map(|uri| json!({ "gcsUri": uri, "mimeType": "video/mp4" })).collect();
    response["videos"] = json!(videos);
    State::Now(server::json(200, &wrapped(response)))
}
