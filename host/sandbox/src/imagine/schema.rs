//! The body of a call: its shape, as the provider's framework reads it, then the values of its fields.
//!
//! Unknown fields are ignored; fields the reference names as unsupported are refused.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::models::{self, Model};
use super::refusal::Refusal;

/// The ratios of the reference, width to height; the last two are of the newest model.
const RATIOS: [(&str, f64, f64); 15] = [
    ("1:1", 1.0, 1.0),
    ("3:4", 3.0, 4.0),
    ("4:3", 4.0, 3.0),
    ("9:16", 9.0, 16.0),
    ("16:9", 16.0, 9.0),
    ("2:3", 2.0, 3.0),
    ("3:2", 3.0, 2.0),
    ("9:19.5", 9.0, 19.5),
    ("19.5:9", 19.5, 9.0),
    ("9:20", 9.0, 20.0),
    ("20:9", 20.0, 9.0),
    ("1:2", 1.0, 2.0),
    ("2:1", 2.0, 1.0),
    ("21:9", 21.0, 9.0),
    ("5:2", 5.0, 2.0),
];
const OF_NEWEST: [&str; 2] = ["21:9", "5:2"];
/// Images one call may ask for.
const MAX_IMAGES: i32 = 10;
/// References one edit may have.
const MAX_REFERENCES: usize = 3;

/// The shape. What is wrong with it comes in the words of serde.
#[derive(Debug, Deserialize)]
pub(super) struct CallBody {
    pub(super) prompt: String,
    model: Option<String>,
    n: Option<i32>,
    aspect_ratio: Option<String>,
    resolution: Option<String>,
    quality: Option<String>,
    response_format: Option<String>,
    #[serde(rename = "user")]
    _user: Option<String>,
    image: Option<ImageUrl>,
    images: Option<Vec<ImageUrl>>,
    deferred: Option<bool>,
    storage_options: Option<Value>,
    size: Option<Value>,
    style: Option<Value>,
}

/// A reference.
#[derive(Debug, Deserialize)]
struct ImageUrl {
    url: Option<String>,
    file_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// A call that passed.
#[derive(Debug, PartialEq)]
pub(super) struct ImageOrder {
    pub(super) prompt: String,
    pub(super) model: &'static Model,
    pub(super) n: u32,
    /// Width to height; `None` lets the model or the reference decide.
    pub(super) ratio: Option<f64>,
    /// Sides of a square image.
    pub(super) side: u32,
    pub(super) base64: bool,
    /// Of an edit: its references.
    pub(super) references: Vec<String>,
    /// `image` and not `images`: the ratio is the reference's.
    pub(super) is_single: bool,
}

/// Reads a body that announces JSON.
pub(super) fn parse(bytes: &Bytes) -> Result<CallBody, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let body: CallBody = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        if error.inner().is_data() {
            Refusal::shape(&error.to_string())
        } else {
            Refusal::syntax(&error.inner().to_string())
        }
    })?;
    reader.end().map_err(|error| Refusal::syntax(&error.to_string()))?;
    Ok(body)
}

impl CallBody {
    /// Checks the values, in the order of the reference's table.
    pub(super) fn check(self, is_edit: bool) -> Result<ImageOrder, Refusal> {
        let name = self.model.as_deref();
        let model = models::find(name).ok_or_else(|| Refusal::no_model(name.unwrap_or_default()))?;
        let unsupported = [
            ("size", self.size.is_some()),
            ("style", self.style.is_some()),
            ("quality", self.quality.is_some() && !model.is_newest),
            ("deferred", self.deferred == Some(true)),
            ("storage_options", self.storage_options.is_some()),
        ];
        if let Some((field, _)) = unsupported.iter().find(|(_, is_sent)| *is_sent) {
            return Err(Refusal::argument(&format!("Argument not supported on this model: {field}")));
        }
        if self.prompt.trim().is_empty() {
            return Err(Refusal::argument("Prompt cannot be empty."));
        }
        let n = self.n.unwrap_or(1);
        if !(1..=MAX_IMAGES).contains(&n) {
            return Err(Refusal::argument(&format!("n must be between 1 and {MAX_IMAGES}, got {n}.")));
        }
        if let Some(other) =
            self.quality.filter(|quality| !["low", "medium", "high"].contains(&quality.as_str()))
        {
            return Err(Refusal::argument(&format!("Unknown quality: {other}")));
        }
        let ratio = self.aspect_ratio.as_deref().map(|name| ratio(model, name)).transpose()?.flatten();
        let side = match self.resolution.as_deref() {
            None | Some("1k") => 1024,
            Some("1.5k") if model.is_newest => 1536,
            Some("2k") => 2048,
            Some(other) => return Err(Refusal::argument(&format!("Unknown resolution: {other}"))),
        };
        let base64 = match self.response_format.as_deref() {
            None | Some("url") => false,
            Some("b64_json") => true,
            Some(other) => return Err(Refusal::argument(&format!("Unknown response_format: {other}"))),
        };
        let (references, is_single) =
            if is_edit { references(self.image, self.images)? } else { (vec![], false) };
        let n = n.unsigned_abs();
        Ok(ImageOrder { prompt: self.prompt, model, n, ratio, side, base64, references, is_single })
    }
}

fn ratio(model: &Model, name: &str) -> Result<Option<f64>, Refusal> {
    if name == "auto" {
        return Ok(None);
    }
    let is_known = |known: &str| known == name && (model.is_newest || !OF_NEWEST.contains(&name));
    let found = RATIOS.iter().find(|(known, ..)| is_known(known));
    let (_, width, height) =
        found.ok_or_else(|| Refusal::argument(&format!("Unknown aspect_ratio: {name}")))?;
    Ok(Some(width / height))
}

/// Exactly one of the two fields.
fn references(
    image: Option<ImageUrl>,
    images: Option<Vec<ImageUrl>>,
) -> Result<(Vec<String>, bool), Refusal> {
    let (list, is_single) = match (image, images) {
        (Some(image), None) => (vec![image], true),
        (None, Some(images)) if images.is_empty() || images.len() > MAX_REFERENCES => {
            let message = format!("images must have 1 to {MAX_REFERENCES} entries, got {}.", images.len());
            return Err(Refusal::argument(&message));
        }
        (None, Some(images)) => (images, false),
        (None, None) => return Err(Refusal::argument("One of image or images is required.")),
        (Some(_), Some(_)) => return Err(Refusal::argument("Only one of image and images may be sent.")),
    };
    let urls = list.into_iter().map(|image| match (image.url, image.file_id) {
        _ if image.kind.as_deref().is_some_and(|kind| kind != "image_url") => {
            Err(Refusal::argument("Unknown image type, expected image_url."))
        }
        (Some(url), None) => Ok(url),
        (None, Some(_)) => Err(Refusal::argument("File not found.")),
        _ => Err(Refusal::argument("An image needs either url or file_id.")),
    });
    Ok((urls.collect::<Result<_, _>>()?, is_single))
}

/// Width and height of about `side` squared pixels in a ratio, in steps of 16 as image models make them.
pub(super) fn pixels(ratio: f64, side: u32) -> (u32, u32) {
    let step = |length: f64| {
        let wanted = (f64::from(side) * length).round();
        (1..=512).map(|steps| steps * 16).min_by_key(|&size| (i64::from(size) - whole(wanted)).abs())
    };
    let root = ratio.sqrt();
    (step(root).unwrap_or(side), step(root.recip()).unwrap_or(side))
}

/// A rounded length as an integer; printing spares a lossy cast.
fn whole(length: f64) -> i64 {
    format!("{length:.0}").parse().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(is_edit: bool, body: Value) -> Result<ImageOrder, (u16, String)> {
        let bytes = Bytes::from(body.to_string());
        parse(&bytes)
            .and_then(|body| body.check(is_edit))
            .map_err(|refusal| (refusal.status, format!("{refusal:?}")))
    }

    #[test]
    fn a_call_has_defaults() {
        let order = checked(false, json!({"prompt": "a kite"})).expect("passes");
        assert_eq!((order.n, order.ratio, order.side, order.base64), (1, None, 1024, false));
        assert_eq!((order.model.id, order.references.len()), ("grok-imagine-image", 0));
        let newest = |more: Value| {
            let mut body = json!({"prompt": "p", "model": "grok-imagine-image-2.0"});
            body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
            checked(false, body).map(|order| (order.model.id, order.side)).map_err(|(status, _)| status)
        };
        let newer = json!({"quality": "medium", "aspect_ratio": "21:9", "resolution": "1.5k"});
        assert_eq!(newest(newer.clone()), Ok(("grok-imagine-image-2.0", 1536)));
        assert_eq!(newest(json!({"quality": "best"})), Err(400));
        for (name, value) in newer.as_object().expect("an object") {
            assert!(checked(false, json!({"prompt": "p", name: value})).is_err(), "{name} of an older model");
        }
        let redirected = checked(false, json!({"prompt": "p", "model": "grok-imagine-image-pro"}));
        assert_eq!(redirected.expect("passes").model.id, "grok-imagine-image-quality");
    }

    #[test]
    fn references_stand_in_one_field() {
        let one = json!({"url": "https://e.com/a.png", "type": "image_url"});
        let edit = |fields: Value| {
            let mut body = fields;
            body["prompt"] = json!("p");
            checked(true, body)
                .map(|order| (order.references.len(), order.is_single))
                .map_err(|(status, _)| status)
        };
        assert_eq!(edit(json!({"image": one})), Ok((1, true)));
        assert_eq!(edit(json!({"image": {"url": "https://e.com/a.png"}})), Ok((1, true)));
        assert_eq!(edit(json!({"images": [one]})), Ok((1, false)));
        assert_eq!(edit(json!({"images": [one, one, one]})), Ok((3, false)));
        for bad in [
            json!({}),
            json!({"image": one, "images": [one]}),
            json!({"images": []}),
            json!({"images": [one, one, one, one]}),
            json!({"image": {}}),
            json!({"image": {"file_id": "file-1"}}),
            json!({"image": {"url": "https://e.com/a.png", "file_id": "file-1"}}),
            json!({"image": {"url": "https://e.com/a.png", "type": "image"}}),
        ] {
            assert_eq!(edit(bad.clone()), Err(400), "{bad}");
        }
        assert_eq!(edit(json!({"image": "https://e.com/a.png"})), Err(422));
        assert_eq!(edit(json!({"image": [one]})), Err(422));
    }
}
