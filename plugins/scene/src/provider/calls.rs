//! The calls. The base address names project and region.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_sdk::{Call, Context};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::request::{Input, Kept, VideoRequest};
use crate::words::Model;

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "veo";
/// Time for a submission, which may carry images or a video.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(180);
/// Time for a poll, whose last answer may carry four videos.
const POLL_TIMEOUT: Duration = Duration::from_secs(120);
/// Time for a video.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(180);
/// Where the videos of a bucket are read.
const STORAGE: &str = "https://storage.googleapis.com";

/// What an operator may set.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Settings {
    /// A bucket that videos are written to (`gs://...`).
    pub(crate) storage_uri: Option<String>,
    /// Where the videos of a bucket are read.
    pub(crate) storage_url: Option<String>,
    /// The provider's id of a model, by the model's id.
    pub(crate) upstream_models: BTreeMap<String, String>,
}

/// The call that submits `request`. A continuation goes to the account that made the original.
pub(crate) fn submission(cx: &Context, request: &VideoRequest) -> Call {
    let mut instance = json!({"prompt": request.prompt});
    let account = match &request.input {
        Input::Text => None,
        Input::Frames(images) => {
            for (name, image) in ["image", "lastFrame"].into_iter().zip(images) {
                // The host replaces a blob's name by its bytes.
                let bytes = format!("{}:base64", image.source);
                instance[name] = json!({"bytesBase64Encoded": bytes, "mimeType": image.mime});
            }
            None
        }
        Input::Original(original) => {
            instance["video"] = match &original.video {
                Kept::Blob { name, mime } => {
                    json!({"bytesBase64Encoded": format!("{name}:base64"), "mimeType": mime})
                }
                Kept::Uri(uri) => json!({"gcsUri": uri, "mimeType": "video/mp4"}),
            };
            original.account.clone()
        }
    };
    let mut parameters = request.parameters.clone();
    if let Some(uri) = text(cx.settings_as::<Settings>().storage_uri) {
        parameters.insert("storageUri".to_owned(), uri.into());
    }
    let body = json!({"instances": [instance], "parameters": parameters});
    let path = format!("{}:predictLongRunning", model_path(cx, request.model));
    Call::post(NAME, path).json(&body).once().timeout(SUBMIT_TIMEOUT).affinity(account)
}

/// Asks how an operation stands. Its last answer may hold videos, which become blobs.
pub(crate) fn poll(cx: &Context, model: Model, operation: &str) -> Call {
    let path = format!("{}:fetchPredictOperation", model_path(cx, model));
    let body = json!({"operationName": operation});
    Call::post(NAME, path).json(&body).safe().cut_body().timeout(POLL_TIMEOUT)
}

/// Fetches a video of a bucket with the account's credentials; the host refuses addresses outside the provider's origins.
pub(crate) fn download(cx: &Context, uri: &str) -> Call {
    let url = match uri.strip_prefix("gs://").and_then(|rest| rest.split_once('/')) {
        Some((bucket, object)) => {
            let storage =
                text(cx.settings_as::<Settings>().storage_url).unwrap_or_else(|| STORAGE.to_owned());
            format!("{storage}/storage/v1/b/{}/o/{}?alt=media", encoded(bucket), encoded(object))
        }
        None => uri.to_owned(),
    };
    Call::get(NAME, url).save_body().timeout(DOWNLOAD_TIMEOUT)
}

fn model_path(cx: &Context, model: Model) -> String {
    format!("/publishers/google/models/{}", upstream_model(cx, model))
}

/// The operator's choice, `upstream_models."<model>"`, or the usual one.
fn upstream_model(cx: &Context, model: Model) -> String {
    let usual = match model {
        Model::Fast => "veo-3.1-fast-generate-001",
        Model::Quality => "veo-3.1-generate-001",
    };
    let chosen = cx.settings_as::<Settings>().upstream_models.remove(model.id());
    text(chosen).unwrap_or_else(|| usual.to_owned())
}

fn text(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

/// Percent-encoded: every byte but the unreserved characters of RFC 3986.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
        encoded
    })
}
