//! The items of `content`: their shapes, the three modes that exclude each other, and what URLs may be.

use serde_json::Value;

use crate::ark::media::{self, MILLISECONDS};
use crate::ark::refusal::Refusal;
use crate::common::schema::{Kind, Variant, fields, items, object, text};

const URL: Kind = object! { url: Kind::Text };

/// Items by their `type`.
pub(crate) const ITEMS: &[Variant] = &[
    ("text", &fields! { text: Kind::Text }),
    (
        "image_url",
        &fields! { image_url: URL, role?: Kind::Word(&["first_frame", "last_frame", "reference_image"]) },
    ),
    ("video_url", &fields! { video_url: URL, role: Kind::Word(&["reference_video"]) }),
    ("audio_url", &fields! { audio_url: URL, role: Kind::Word(&["reference_audio"]) }),
];

/// What is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    Image,
    Video,
    Audio,
}

impl MediaType {
    /// As assets spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Image => "Image",
            Self::Video => "Video",
            Self::Audio => "Audio",
        }
    }
}

/// A reference and the path of its URL in the body.
pub(crate) struct MediaItem {
    pub(crate) media: MediaType,
    pub(crate) url: String,
    pub(crate) path: String,
}

/// Content that passed.
pub(crate) struct Content {
    /// Empty when there is none.
    pub(crate) prompt: String,
    pub(crate) media: Vec<MediaItem>,
}

/// The prompt of a body that may be wrong otherwise.
pub(crate) fn prompt_of(body: &Value) -> String {
    let texts = items(body, "content").iter().filter(|item| item["type"] == "text");
    texts.map(|item| text(item, "text")).collect()
}

/// Reads the content of a body that passed the schema.
pub(crate) fn read(body: &Value) -> Result<Content, Refusal> {
    let (mut prompts, mut media, mut roles) = (Vec::new(), Vec::new(), Vec::new());
    for (at, item) in items(body, "content").iter().enumerate() {
        let kind = text(item, "type");
        let item_media = match kind {
            "text" => {
                prompts.push(text(item, "text"));
                continue;
            }
            "image_url" => MediaType::Image,
            "video_url" => MediaType::Video,
            _ => MediaType::Audio,
        };
        if item_media == MediaType::Image {
            roles.push(item["role"].as_str());
        }
        let (url, path) = (text(&item[kind], "url").to_owned(), format!("content[{at}].{kind}.url"));
        check_url(item_media, &url, &path)?;
        media.push(MediaItem { media: item_media, url, path });
    }
    let wrong = |message: &str| Err(Refusal::invalid("content", message));
    if prompts.len() > 1 {
        return wrong("The parameter content may have one item of the type text.");
    }
    let count = |wanted| media.iter().filter(|item: &&MediaItem| item.media == wanted).count();
    let (videos, sounds) = (count(MediaType::Video), count(MediaType::Audio));
    if videos > 3 || sounds > 3 {
        return wrong("The parameter content may have 3 items of the type video_url and 3 of audio_url.");
    }
    if sounds > 0 && videos == 0 && roles.is_empty() {
        return wrong("The parameter content may not have audio_url without image_url or video_url.");
    }
    if prompts.is_empty() && media.is_empty() {
        return wrong("The parameter content has no item that can be used.");
    }
    check_roles(&roles, videos + sounds > 0)?;
    Ok(Content { prompt: prompts.concat(), media })
}

/// First frame, first and last frame, and references exclude each other.
fn check_roles(roles: &[Option<&str>], has_others: bool) -> Result<(), Refusal> {
    let wrong = |message: &str| Err(Refusal::invalid("content", message));
    let count = |role: &str| roles.iter().filter(|given| **given == Some(role)).count();
    let without = roles.iter().filter(|role| role.is_none()).count();
    if without > 0 && roles.len() > 1 {
        return wrong("Every image_url needs a role when there are several.");
    }
    let (first, last, references) =
        (count("first_frame") + without, count("last_frame"), count("reference_image"));
    if first > 1 || last > 1 || last > first {
        return wrong("The parameter content may have one first_frame, and one last_frame beside it.");
    }
    if first + last > 0 && (references > 0 || has_others) {
        return wrong("First and last frames may not be mixed with references.");
    }
    if references > 9 {
        return wrong("The parameter content may have 9 items with the role reference_image.");
    }
    Ok(())
}

fn check_url(media: MediaType, url: &str, path: &str) -> Result<(), Refusal> {
    let is_http = url.starts_with("https://") || url.starts_with("http://");
    if is_http || url.starts_with("asset://") {
        return Ok(());
    }
    if url.starts_with("data:") && media != MediaType::Video {
        return Ok(());
    }
    let message = match media {
        MediaType::Video => format!("The parameter {path} must be provided as a web url."),
        _ => format!("The parameter {path} is neither a web url, nor base64, nor an asset."),
    };
    Err(Refusal::invalid(path, message))
}

/// Looks at everything that is no asset.
pub(crate) fn inspect(content: &Content, resolution: &str, samples: &str) -> Result<(), Refusal> {
    let (mut videos, mut sounds) = (0, 0);
    for item in content.media.iter().filter(|item| !item.url.starts_with("asset://")) {
        let file = media::look(&item.url, samples);
        let checked = match item.media {
            MediaType::Image => media::check_image(file).map(|()| None),
            MediaType::Video => media::check_video(file, resolution),
            MediaType::Audio => media::check_sound(file),
        };
        let milliseconds = checked.map_err(|problem| {
            Refusal::invalid(
                &item.path,
                format!("The parameter {} is not valid: {}.", item.path, problem.text),
            )
        })?;
        match item.media {
            MediaType::Image => {}
            MediaType::Video => videos += milliseconds.unwrap_or_default(),
            MediaType::Audio => sounds += milliseconds.unwrap_or_default(),
        }
    }
    for (sum, what) in [(videos, "videos"), (sounds, "audio")] {
        if sum > *MILLISECONDS.end() {
            let message = format!("The {what} together must not be longer than 15.2 seconds, got {sum} ms.");
            return Err(Refusal::invalid("content", message));
        }
    }
    Ok(())
}
