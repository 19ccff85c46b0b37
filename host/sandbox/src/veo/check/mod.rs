//! Submissions: which bodies are accepted, and the videos they become.

mod fields;
mod media;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::common::kept::cut_texts;
use crate::veo::refusal::Refusal;
use gatehouse_sandbox_files::Film;
pub(super) use media::Stored;

const MODELS: &[&str] = &["veo-3.1-generate-001", "veo-3.1-fast-generate-001"];
/// Seconds a continuation adds.
const ADDED_MS: u64 = 7000;
/// Texts shorter than this stand in the record as they are.
const SHOWN: usize = 200;

/// A body that passed all checks.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) prompt: String,
    pub(super) film: Film,
    pub(super) samples: usize,
    /// `gs://bucket/prefix/`.
    pub(super) storage: Option<String>,
}

/// Checks a body. `stored` finds a video that the account has at the provider.
pub(super) fn check(
    model: &str,
    body: &Value,
    stored: impl Fn(&str) -> Option<Stored>,
) -> Result<Order, Refusal> {
    if !MODELS.contains(&model) {
        return Err(Refusal::not_found(format!("The model {model} was not found.")));
    }
    let instance = fields::check(body)?;
    let parameters = &body["parameters"];
    let original = media::check(instance, parameters, stored)?;
    let milliseconds = match original {
        Some(before) => before + ADDED_MS,
        None => parameters["durationSeconds"].as_u64().unwrap_or(8) * 1000,
    };
    let (long, short) = match parameters["resolution"].as_str() {
        Some("1080p") => (1920, 1080),
        Some("4k") => (3840, 2160),
        _ => (1280, 720),
    };
    let is_tall = parameters["aspectRatio"] == "9:16";
    let (width, height) = if is_tall { (short, long) } else { (long, short) };
    let [red, green, blue, ..]: [u8; 32] = Sha256::digest(body.to_string()).into();
    Ok(Order {
        prompt: instance["prompt"].as_str().unwrap_or_default().to_owned(),
        film: Film {
            width,
            height,
            milliseconds,
            sound: parameters["generateAudio"] != false,
            colour: [red, green, blue],
        },
        samples: parameters["sampleCount"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(1),
        storage: parameters["storageUri"].as_str().map(str::to_owned),
    })
}

/// A body with its bytes cut.
pub(super) fn recorded(body: &Value) -> Value {
    cut_texts("", body, |name, text| {
        let is_cut = name == "bytesBase64Encoded" && text.len() > SHOWN;
        is_cut.then(|| format!("{} bytes", text.trim_end_matches('=').len() * 3 / 4))
    })
}
