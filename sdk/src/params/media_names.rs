//! Media that a client hands over under a name the model does not know: in the singular, in other letters, or another
//! service's name. They are told apart from other unknown fields, which are ignored, by their names and by what stands there.

use gatehouse_contract::decode_base64;
use serde_json::Value;

use super::InvalidParam;
use super::sentences::came;
use crate::contract::media::MediaKind;
use crate::source::{MIN_BASE64, Source};

/// Words in the names of fields that hold media, and the kind they mean.
const WORDS: [(&str, MediaKind); 18] = [
    ("base64", MediaKind::Image),
    ("image", MediaKind::Image),
    ("img", MediaKind::Image),
    ("picture", MediaKind::Image),
    ("pic", MediaKind::Image),
    ("photo", MediaKind::Image),
    ("frame", MediaKind::Image),
    ("mask", MediaKind::Image),
    ("reference", MediaKind::Image),
    ("ref", MediaKind::Image),
    ("video", MediaKind::Video),
    ("film", MediaKind::Video),
    ("movie", MediaKind::Video),
    ("clip", MediaKind::Video),
    ("audio", MediaKind::Audio),
    ("sound", MediaKind::Audio),
    ("voice", MediaKind::Audio),
    ("music", MediaKind::Audio),
];
/// How deep lists and objects are looked into.
const MAX_DEPTH: usize = 4;

/// Refuses a field that hands over a picture, a video or a sound under a name that is not one of `own`. Without it the model would
/// make, and its client pay, something without them.
///
/// # Errors
/// Such a field, with those of `own` that take what it has.
///
/// ```
/// use gatehouse_sdk::params::known_media;
/// use serde_json::json;
///
/// let refused = |body| known_media(&body, &["image_urls"]).err().map(|invalid| invalid.to_string());
/// assert_eq!(refused(json!({"image_urls": ["https://example.com/a.png"], "image_size": "1:1"})), None);
/// assert_eq!(
///     refused(json!({"imageUrl": "https://example.com/a.png"})).unwrap(),
///     "`imageUrl`: there is no such field, use `image_urls`; got the string \"https://example.com/a.png\""
/// );
/// ```
pub fn known_media(body: &Value, own: &[&str]) -> Result<(), InvalidParam> {
    let fields = body.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(name, _)| !own.contains(&name.as_str())) {
        let Some(kind) = kind(name) else { continue };
        if !is_media(value, MAX_DEPTH) {
            continue;
        }
        let fitting: Vec<String> =
            own.iter().filter(|own| self::kind(own) == Some(kind)).map(|own| format!("`{own}`")).collect();
        let advice = match fitting.is_empty() {
            true => "and this model takes nothing like it".to_owned(),
            false => format!("use {}", fitting.join(" or ")),
        };
        let problem = format!("there is no such field, {advice}; got {}", came(Some(value)));
        return Err(InvalidParam::at(Some(name), problem));
    }
    Ok(())
}

/// The kind of media that a field's name speaks of.
fn kind(name: &str) -> Option<MediaKind> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = !letter.is_uppercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.iter().find_map(|word| {
        // Such as `imageurls`, and `image2`.
        let plain = word.strip_suffix('s').unwrap_or(word);
        let plain = plain.strip_suffix("url").unwrap_or(plain);
        let counted = plain.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let is =
            |known: &str| [plain, counted].iter().any(|word| word.strip_suffix('s').unwrap_or(word) == known);
        WORDS.iter().find(|(known, _)| is(known)).map(|(_, kind)| *kind)
    })
}

/// Whether a value is a link or a file, or has one in it.
fn is_media(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match value {
        Value::String(text) => {
            let text = text.trim();
            text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("data:"))
                || Source::of(text).is_some_and(
                    |source| !matches!(source, Source::Other { scheme, .. } if scheme != "asset"),
                )
                || text.len() >= MIN_BASE64 && decode_base64(text.as_bytes()).is_some()
        }
        Value::Array(items) => items.iter().any(|item| is_media(item, depth)),
        Value::Object(fields) => fields.values().any(|field| is_media(field, depth)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a picture is ignored, and one made from the text alone is charged.
    #[test]
    fn media_under_another_name_are_told_from_other_unknown_fields() {
        let link = "https://e.com/a";
        for (body, refused) in [
            (json!({"image_url": link}), Some("image_url")),
            (json!({"Image_Urls": [link]}), Some("Image_Urls")),
            (json!({"imageURLs": [link]}), Some("imageURLs")),
            (json!({"IMAGES": [{"url": link}]}), Some("IMAGES")),
            (json!({"image": {"image_url": {"url": link}}}), Some("image")),
            (json!({"imageurls": link}), Some("imageurls")),
            (json!({"image2": link}), Some("image2")),
            (json!({"reference_images": ["data:image/png;base64,iVBORw0KGgo="]}), Some("reference_images")),
            (json!({"input_reference": "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV"}), Some("input_reference")),
            (json!({"firstFrame": "asset://a1"}), Some("firstFrame")),
            (json!({"img_b64": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"}), Some("img_b64")),
            (json!({"base64Array": ["data:image/png;base64,iVBORw0KGgo="]}), Some("base64Array")),
            (json!({"videoUrl": link}), Some("videoUrl")),
            (json!({"sound": link}), Some("sound")),
            (json!({"image_urls": [link], "video_urls": [link]}), None),
            (json!({"image_url": null, "images": [], "image": "", "audio": true, "frame_rate": 24}), None),
            (
                json!({"image_size": "landscape_16_9", "image_format": "png", "image": {"detail": "high"}}),
                None,
            ),
            (json!({"callback_url": link, "profile": link, "metadata": {"image": link}, "user": link}), None),
        ] {
            let found = known_media(&body, &["image_urls", "video_urls"]);
            assert_eq!(found.err().and_then(|it| it.field).as_deref(), refused, "{body}");
        }
        let said = |body: Value| known_media(&body, &["image_urls", "image_with_roles"]).unwrap_err().problem;
        assert!(said(json!({"image": link})).contains("use `image_urls` or `image_with_roles`"));
        assert!(said(json!({"audio": link})).contains("takes nothing like it"));
    }
}
