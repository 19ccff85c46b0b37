//! Creations: which bodies are accepted, and the video each becomes.

mod fields;
mod media;
mod sizes;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::common::kept::cut_texts;
use crate::dashscope::faults::{Faults, Refusal};
use crate::dashscope::record::CreatedVideo;
use crate::dashscope::tasks::Task;
use fields::Model;
use gatehouse_sandbox_files::Film;
use media::Medium;

/// A task for a body that passed all checks. What is only found out when the media are fetched becomes its failure.
pub(super) fn check(body: &Value, account: usize, samples: &str) -> Result<Task, Refusal> {
    let model = Model::of(body)?;
    fields::check(model, body)?;
    let (input, parameters) = (&body["input"], &body["parameters"]);
    let seconds = parameters["duration"].as_u64().unwrap_or(5);
    let media = media::of(model, input, samples)?;
    let bad_media = media::judge(model, &media, seconds).err();
    let prompt = input["prompt"].as_str().unwrap_or_default().to_owned();
    let shown = media.iter().find(|medium| !medium.is_sound()).map(Medium::frame);
    let size = sizes::of(parameters, shown);
    let [red, green, blue, ..]: [u8; 32] = Sha256::digest(body.to_string()).into();
    let film = Film {
        width: size.width,
        height: size.height,
        milliseconds: seconds * 1000,
        sound: parameters["audio"] != false || input["audio_url"].is_string(),
        colour: [red, green, blue],
    };
    Ok(Task {
        record: CreatedVideo { account, body: recorded(body), ..CreatedVideo::default() },
        faults: Faults::of(&prompt),
        prompt,
        film,
        ratio: size.ratio,
        height: size.name,
        input_milliseconds: media.iter().find_map(Medium::clip_milliseconds).unwrap_or_default(),
        bad_media,
        begins_at: None,
        ends_at: None,
        links: 0,
        downloads: 0,
    })
}

/// A body with its `data:` URIs cut.
pub(super) fn recorded(body: &Value) -> Value {
    cut_texts("", body, |_, text| {
        let (head, data) = text.split_once(";base64,").filter(|_| text.starts_with("data:"))?;
        Some(format!("{head};{} bytes", data.trim_end_matches('=').len() * 3 / 4))
    })
}
