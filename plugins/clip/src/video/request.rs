//! A checked request with every default filled in: the rules between fields, and the mode that follows from the fields
//! present. Part of the task's state until the provider has accepted it.
//!
//! A long prompt is not: it is the task's brief, and then a blob.

use gatehouse_sdk::job::check_request;
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Affinity, Facts, InvalidParam, Submission, params};
use serde::{Deserialize, Serialize};

use crate::names;
use crate::video::media::Kind;
use crate::video::params::{ImageRole, Model, Params, Resolution, Size, Tool};
use crate::video::source::is_asset;

/// Spec: default `duration`, seconds.
const DURATION: u32 = 5;
/// A prompt of at most so many bytes is in the state; JSON writes at most six bytes for one.
const SHORT_PROMPT: usize = 4 * 1024;
/// The host keeps 64 KiB of state for a task; the rest is for the prompt and the other fields.
const MAX_SOURCES: usize = 36 * 1024;

/// A text of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Prompt {
    Text(String),
    /// In the task's brief.
    Brief,
    /// `blob:<id>`.
    Blob(String),
}

/// What a reference is used as, in the provider's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    FirstFrame,
    LastFrame,
    ReferenceImage,
    ReferenceVideo,
    ReferenceAudio,
}

/// An image, a video or an audio file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub(crate) kind: Kind,
    pub(crate) role: Role,
    pub(crate) source: String,
    /// The client's field.
    pub(crate) field: String,
}

impl Reference {
    /// Assets are known to the provider only.
    pub(crate) fn is_asset(&self) -> bool {
        is_asset(&self.source)
    }
}

/// What is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoRequest {
    pub(crate) model: Model,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) duration: u32,
    pub(crate) size: Size,
    pub(crate) resolution: Resolution,
    pub(crate) seed: Option<i64>,
    pub(crate) generate_audio: bool,
    pub(crate) return_last_frame: bool,
    pub(crate) tools: Vec<Tool>,
    /// Images, then videos, then audio.
    pub(crate) references: Vec<Reference>,
    /// The account that has the assets.
    pub(crate) account: Option<Affinity>,
}

impl VideoRequest {
    /// Reads a request's body. The second value is the brief.
    pub(crate) fn read(request: &Submission) -> Result<(Self, Vec<u8>), InvalidParam> {
        let params: Params = params::read(&request.body)?;
        params::known_media(&request.body, &["image_urls", "image_with_roles", "video_urls", "audio_urls"])?;
        let resolution = params.resolution.unwrap_or_default();
        if !params.model.makes(resolution) {
            let problem = format!("expected 480p or 720p with {}, got {resolution}", params.model.id());
            return Err(invalid("resolution", problem));
        }
        let size = params::either(&request.body, "size", params.size, "aspect_ratio", params.aspect_ratio)?;
        let mut references = images(&params)?;
        references.extend(others(&params, &references)?);
        check_prompt(&params, references.is_empty())?;
        for reference in &mut references {
            reference.source = settled(params.model, reference, &request.blobs)?;
        }
        check_size(&references)?;
        let account = names::account_of_assets(request, assets(&references))?;
        let (prompt, brief) = prompt(params.prompt);
        let video = Self {
            model: params.model,
            prompt,
            // A rule's range says that it fits.
            duration: params.duration.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(DURATION),
            size: size.map(|(size, _)| size).unwrap_or_default(),
            resolution,
            seed: params.seed,
            generate_audio: params.generate_audio.unwrap_or(true),
            return_last_frame: params.return_last_frame.unwrap_or(false),
            tools: params.tools.unwrap_or_default(),
            references,
            account,
        };
        check_request(&video)?;
        Ok((video, brief))
    }
}

fn invalid(field: &str, problem: impl Into<String>) -> InvalidParam {
    InvalidParam::at(Some(field), problem.into())
}

/// The images and their roles.
fn images(params: &Params) -> Result<Vec<Reference>, InvalidParam> {
    let plain = params.image_urls.as_deref().unwrap_or_default();
    let with_roles = params.image_with_roles.as_deref().unwrap_or_default();
    if !plain.is_empty() && !with_roles.is_empty() {
        return Err(invalid("image_urls", "cannot be combined with `image_with_roles`, got both"));
    }
    let is_alone = params.video_urls.as_deref().unwrap_or_default().is_empty()
        && params.audio_urls.as_deref().unwrap_or_default().is_empty();
    // Decisions: one image, no video or audio, is the first frame.
    let role = if plain.len() == 1 && is_alone { Role::FirstFrame } else { Role::ReferenceImage };
    let plain = plain.iter().enumerate().map(|(at, url)| (role, url, format!("image_urls[{at}]")));
    let with_roles = with_roles.iter().enumerate().map(|(at, image)| {
        let role = match image.role {
            ImageRole::FirstFrame => Role::FirstFrame,
            ImageRole::LastFrame => Role::LastFrame,
            ImageRole::ReferenceImage => Role::ReferenceImage,
        };
        (role, &image.url, format!("image_with_roles[{at}].url"))
    });
    let reference = |(role, url, field): (Role, &String, String)| Reference {
        kind: Kind::Image,
        role,
        source: url.clone(),
        field,
    };
    let images: Vec<_> = plain.chain(with_roles).map(reference).collect();
    check_roles(&images)?;
    Ok(images)
}

/// The first frame, the first and the last frame, and references are three modes that exclude each other.
fn check_roles(images: &[Reference]) -> Result<(), InvalidParam> {
    let count = |role: Role| images.iter().filter(|image| image.role == role).count();
    let (first, last) = (count(Role::FirstFrame), count(Role::LastFrame));
    let problem = if first > 1 || last > 1 {
        format!("expected at most one `first_frame` and one `last_frame`, got {first} and {last}")
    } else if last == 1 && first == 0 {
        "expected a `first_frame` beside the `last_frame`, got none".to_owned()
    } else if first + last > 0 && first + last < images.len() {
        "expected either frames or `reference_image`, got both".to_owned()
    } else {
        return Ok(());
    };
    Err(invalid("image_with_roles", problem))
}

/// Videos and audio.
fn others(params: &Params, images: &[Reference]) -> Result<Vec<Reference>, InvalidParam> {
    let has_frames = images.iter().any(|image| image.role != Role::ReferenceImage);
    let list =
        |urls: &Option<Vec<String>>, field: &str, kind, role| -> Result<Vec<Reference>, InvalidParam> {
            let urls = urls.as_deref().unwrap_or_default();
            if has_frames && !urls.is_empty() {
                let problem = "cannot be combined with first and last frames, got both";
                return Err(invalid(field, problem));
            }
            let reference = |(at, url): (usize, &String)| Reference {
                kind,
                role,
                source: url.clone(),
                field: format!("{field}[{at}]"),
            };
            Ok(urls.iter().enumerate().map(reference).collect())
        };
    let mut videos = list(&params.video_urls, "video_urls", Kind::Video, Role::ReferenceVideo)?;
    let audio = list(&params.audio_urls, "audio_urls", Kind::Audio, Role::ReferenceAudio)?;
    if !audio.is_empty() && videos.is_empty() && images.is_empty() {
        let problem = "expected reference images or videos beside the audio, got none";
        return Err(invalid("audio_urls", problem));
    }
    videos.extend(audio);
    Ok(videos)
}

fn check_prompt(params: &Params, is_text_to_video: bool) -> Result<(), InvalidParam> {
    let Some(prompt) = params.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) else {
        if !is_text_to_video {
            return Ok(());
        }
        let came = if params.prompt.is_some() { "a blank one" } else { "nothing" };
        return Err(invalid("prompt", format!("expected a text without images and videos, got {came}")));
    };
    let Some(max) = params.model.max_prompt() else { return Ok(()) };
    let length = prompt.chars().count();
    if length > max {
        let problem = format!("expected at most {max} characters with {}, got {length}", params.model.id());
        return Err(invalid("prompt", problem));
    }
    Ok(())
}

/// The source of one reference in the host's form, checked as far as it can be before it is looked at.
fn settled(model: Model, reference: &Reference, blobs: &[Facts]) -> Result<String, InvalidParam> {
    let wrong = |problem: String| Err(invalid(&reference.field, problem));
    if reference.is_asset() && !model.takes_assets() {
        let (id, source) = (model.id(), &reference.source);
        return wrong(format!("assets work with clip-2.0 and clip-2.0-fast only, got {source} with {id}"));
    }
    match Source::of(&reference.source) {
        Some(Source::Embedded(file)) => {
            reference.kind.check_type(&file.facts()).map(|()| file.uri()).or_else(wrong)
        }
        Some(Source::Blob) => match source::blob(&reference.source, blobs) {
            Some(facts) => reference.kind.check(facts).map(|()| reference.source.clone()).or_else(wrong),
            None => wrong("expected a file of this request, got a blob of another request".to_owned()),
        },
        _ => Ok(source::normalised(&reference.source)),
    }
}

fn check_size(references: &[Reference]) -> Result<(), InvalidParam> {
    let bytes: usize = references.iter().map(|reference| reference.source.len()).sum();
    if bytes <= MAX_SOURCES {
        return Ok(());
    }
    Err(InvalidParam::at(
        None,
        format!(
            "expected URLs and small embedded files of at most {MAX_SOURCES} bytes together (large files do not \
             count), got {bytes}"
        ),
    ))
}

fn assets(references: &[Reference]) -> impl Iterator<Item = (&str, &str, &'static str)> {
    let assets = references.iter().filter(|reference| reference.is_asset());
    assets.map(|asset| (asset.field.as_str(), asset.source.as_str(), asset.kind.asset_type()))
}

/// The prompt as the state has it, and the brief.
fn prompt(text: Option<String>) -> (Option<Prompt>, Vec<u8>) {
    match text.filter(|text| !text.trim().is_empty()) {
        None => (None, Vec::new()),
        Some(text) if text.len() <= SHORT_PROMPT => (Some(Prompt::Text(text)), Vec::new()),
        Some(text) => (Some(Prompt::Brief), text.into_bytes()),
    }
}
