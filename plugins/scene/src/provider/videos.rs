//! The videos of a finished operation, which each dialect writes in its own way.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VideoSource {
    /// Its bytes came in the answer: `blob:<id>`, or a short `data:` URI.
    Inline(String),
    /// It is to be fetched: `gs://...` or an address of the Gemini API.
    Uri(String),
}

/// A finished operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) videos: Vec<VideoSource>,
    /// How many the filters took.
    pub(super) filtered: u64,
    /// The filters' texts.
    pub(super) reasons: Vec<String>,
}

/// Vertex AI: all of it in `response`. The Gemini API: in `response.generateVideoResponse`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Response {
    videos: Vec<Video>,
    generated_samples: Vec<Sample>,
    rai_media_filtered_count: u64,
    rai_media_filtered_reasons: Vec<String>,
}

#[derive(Deserialize)]
struct Sample {
    video: Video,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Video {
    gcs_uri: Option<String>,
    uri: Option<String>,
    bytes_base64_encoded: Option<String>,
    encoded_video: Option<String>,
}

impl Ready {
    /// Out of an operation's `response`.
    pub(super) fn of(response: &Value) -> Result<Self, String> {
        let inside = response.get("generateVideoResponse").unwrap_or(response);
        let response = Response::deserialize(inside).map_err(|error| error.to_string())?;
        let samples = response.generated_samples.into_iter().map(|sample| sample.video);
        let videos = response.videos.into_iter().chain(samples).map(Video::source);
        let videos = videos.collect::<Option<_>>().ok_or("a video without bytes and without an address")?;
        let (filtered, reasons) = (response.rai_media_filtered_count, response.rai_media_filtered_reasons);
        Ok(Self { videos, filtered, reasons })
    }
}

impl Video {
    fn source(self) -> Option<VideoSource> {
        let is_text = |text: &String| !text.is_empty();
        if let Some(uri) = self.gcs_uri.or(self.uri).filter(is_text) {
            return Some(VideoSource::Uri(uri));
        }
        // The host has put a blob where long bytes were.
        let bytes = self.bytes_base64_encoded.or(self.encoded_video).filter(is_text)?;
        let source =
            if bytes.starts_with("blob:") { bytes } else { format!("data:video/mp4;base64,{bytes}") };
        Some(VideoSource::Inline(source))
    }
}
