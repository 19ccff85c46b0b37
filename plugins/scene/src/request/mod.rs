//! A checked request: what goes to the provider, with every default of the specification written out. Part of the task's
//! state until the provider has accepted it.

mod remix;
mod video;

use std::time::Duration;

use gatehouse_sdk::job::check_request;
use gatehouse_sdk::{Affinity, Charge, Refusal, Submission};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::sources::Image;
use crate::words::{Aspect, Model, People, REMIX, Resolution};

pub(crate) use remix::Record;

/// The usual duration of a task: the provider says 11 seconds to 6 minutes.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(90);

/// What is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoRequest {
    pub(crate) model: Model,
    pub(crate) prompt: String,
    pub(crate) input: Input,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) kind: VideoKind,
}

/// What a video is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Input {
    /// The prompt alone.
    Text,
    /// The first picture, and maybe the last one.
    Frames(Vec<Image>),
    /// A finished video.
    Original(Original),
}

/// The video to be continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Original {
    pub(crate) video: Kept,
    /// The account that made it.
    pub(crate) account: Option<Affinity>,
}

/// Where a video is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    /// By the host: `blob:<id>`, and its type.
    Blob { name: String, mime: String },
    /// By the provider.
    Uri(String),
}

/// What the finished videos are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VideoKind {
    /// Seconds that the provider makes, of each video.
    pub(crate) seconds: u32,
    /// How long each file of the provider is. It begins with the original, where there is one.
    pub(crate) milliseconds: u64,
    /// How much of its beginning the client does not get.
    pub(crate) hidden_milliseconds: u64,
    /// How many videos were asked for.
    pub(crate) samples: u32,
    pub(crate) aspect: Aspect,
    pub(crate) resolution: Resolution,
    pub(crate) audio: bool,
    pub(crate) people: People,
}

impl VideoRequest {
    /// Reads a request of either surface.
    pub(crate) fn read(request: &Submission) -> Result<Self, Refusal> {
        let video =
            if request.surface == REMIX { remix::request(request)? } else { video::request(request)? };
        check_request(&video)?;
        Ok(video)
    }

    /// Billed per second that is made, and by resolution and sound; the prices of these are the operator's choice.
    pub(crate) fn charge(&self) -> Charge {
        charge(self.model, &self.kind, self.kind.samples)
    }
}

/// The charge of so many videos.
pub(crate) fn charge(model: Model, kind: &VideoKind, videos: u32) -> Charge {
    let (id, resolution) = (model.id(), kind.resolution);
    let mut keys = vec![format!("{id}@{resolution}"), id.to_owned()];
    if kind.audio {
        keys.insert(0, format!("{id}@{resolution}-audio"));
    }
    Charge::keys(keys).times(kind.seconds.saturating_mul(videos).into())
}

/// What both kinds of requests tell the provider.
fn common(kind: &VideoKind) -> Map<String, Value> {
    let mut parameters = Map::new();
    let mut put = |name: &str, value: Value| drop(parameters.insert(name.to_owned(), value));
    put("aspectRatio", json!(kind.aspect));
    put("resolution", json!(kind.resolution));
    put("sampleCount", kind.samples.into());
    put("personGeneration", kind.people.name().into());
    put("enhancePrompt", true.into());
    put("generateAudio", kind.audio.into());
    parameters
}
