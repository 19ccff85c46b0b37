//! The provider's protocol: the call, and the meaning of its answer. Messages for clients never name the operator's
//! account; that goes to the operator's log.

use std::time::Duration;

use gatehouse_sdk::job::{Policy, Submitted};
use gatehouse_sdk::{Call, Context, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::request::ImageRequest;
use crate::state::Image;

mod images;
mod refusals;

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "xai";
/// The provider's id of the model, unless the operator sets `upstream_model`.
const UPSTREAM_MODEL: &str = "grok-imagine-image";
/// Time for a call, which lasts until the last image is made.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// What a client reads when the provider does not do it. From the last of the `losses` on, an image that cannot be
/// copied is left out.
pub(crate) const POLICY: Policy = Policy {
    failed: "the upstream failed to generate the image",
    uncopied: "the finished image could not be fetched from the upstream",
    ..Policy::DEFAULT
};

/// The call that makes the images of `request`. Links are asked for: the host fetches them at once. Images that come
/// as base64 all the same are kept by the host as blobs.
pub(crate) fn call(cx: &Context, request: &ImageRequest) -> Call {
    let mut body = json!({
        "model": upstream_model(cx),
        "prompt": request.prompt,
        "n": request.n,
        "response_format": "url",
    });
    let path = match &request.reference {
        None => {
            body["aspect_ratio"] = json!(request.size);
            "/v1/images/generations"
        }
        // The images keep the ratio of the reference.
        Some(reference) => {
            body["image"] = json!({"url": reference, "type": "image_url"});
            "/v1/images/edits"
        }
    };
    Call::post(NAME, path).json(&body).once().cut_body().timeout(TIMEOUT)
}

/// What an operator may set.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The provider's id of the model.
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) upstream_model: Option<String>,
}

/// The operator's setting, if it is one.
fn upstream_model(cx: &Context) -> String {
    let chosen = cx.settings_as::<Settings>().upstream_model;
    chosen.filter(|model| !model.trim().is_empty()).unwrap_or_else(|| UPSTREAM_MODEL.to_owned())
}

/// The images of an answer: at least one, at most as many as asked for.
pub(crate) fn answer(reply: &Reply, request: &ImageRequest) -> Submitted<Vec<Image>> {
    if reply.is_success() { images::read(reply, request) } else { refusals::read(reply) }
}
