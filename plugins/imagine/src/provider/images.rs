//! A good answer: its images, and those that moderation took out.

use gatehouse_sdk::job::Submitted;
use gatehouse_sdk::lenient::{self, is_error};
use gatehouse_sdk::{Failure, Reply, log, source};
use serde::Deserialize;
use serde_json::Value;

use super::{POLICY, refusals};
use crate::request::ImageRequest;
use crate::state::Image;

/// The longest source that is kept in the task's state, ten of which fit. The host has cut longer base64 out.
const MAX_SOURCE: usize = 5 * 1024;
/// What the provider makes, when it does not say.
const USUAL_TYPE: &str = "image/jpeg";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    #[serde(deserialize_with = "lenient::list")]
    data: Vec<Item>,
    /// The input was stopped; then there are no images.
    block_reason: Value,
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    #[serde(deserialize_with = "lenient::word")]
    url: Option<String>,
    /// A blob, base64, or base64 behind a `data:` head.
    #[serde(deserialize_with = "lenient::word")]
    b64_json: Option<String>,
    #[serde(deserialize_with = "lenient::word")]
    mime_type: Option<String>,
    /// False for an image that was filtered; it has no URL.
    #[serde(deserialize_with = "lenient::value")]
    respect_moderation: Option<bool>,
    error: Value,
}

pub(super) fn read(reply: &Reply, request: &ImageRequest) -> Submitted<Vec<Image>> {
    let body: Body = match reply.json() {
        Ok(body) => body,
        Err(error) => {
            log::error("an answer has no images", &[("error", &error.to_string())]);
            return Submitted::Failed(POLICY.failed());
        }
    };
    let items = body.data;
    let is_refused = is_error(&body.error) || items.iter().any(|item| is_error(&item.error));
    let filtered = items.iter().filter(|item| item.respect_moderation == Some(false)).count();
    let made: Vec<Image> = items.into_iter().filter_map(Item::image).collect();
    let asked = usize::try_from(request.n).unwrap_or(usize::MAX);
    let came = [made.len().to_string(), filtered.to_string(), asked.to_string()];
    let fields = [("images", came[0].as_str()), ("filtered", &came[1]), ("asked", &came[2])];
    if made.len() != asked {
        log::warn("another number of images came than was asked for", &fields);
    }
    if !made.is_empty() {
        return Submitted::Accepted(made.into_iter().take(asked).collect());
    }
    if filtered == 0 && is_refused {
        return refusals::read(reply);
    }
    Submitted::Failed(if is_error(&body.block_reason) {
        Failure::moderation("the prompt or the reference image was stopped by input moderation")
    } else if filtered > 0 {
        Failure::moderation("every generated image was stopped by output moderation")
    } else {
        POLICY.failed()
    })
}

impl Item {
    /// The image, unless it was filtered or cannot be fetched.
    fn image(self) -> Option<Image> {
        if self.respect_moderation == Some(false) {
            return None;
        }
        let known = |mime: &String| ["image/jpeg", "image/png", "image/webp"].contains(&mime.as_str());
        let mime = self.mime_type.filter(known).unwrap_or_else(|| USUAL_TYPE.to_owned());
        let source = match (self.url.as_deref().and_then(source::result), self.b64_json) {
            (Some(url), _) => url,
            (None, Some(text)) if text.starts_with("blob:") || text.starts_with("data:") => text,
            (None, Some(text)) if !text.is_empty() => format!("data:{mime};base64,{text}"),
            (None, _) => return None,
        };
        (source.len() <= MAX_SOURCE).then_some(Image { source, mime })
    }
}
