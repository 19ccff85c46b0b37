//! The videos of a finished operation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VideoSource {
    /// Its bytes came in the answer: `blob:<id>`, or a short `data:` URI.
    Inline(String),
    /// It is to be fetched from a bucket: `gs://...`.
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

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Response {
    videos: Option<Vec<Video>>,
    rai_media_filtered_count: Option<u64>,
    rai_media_filtered_reasons: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Video {
    gcs_uri: Option<String>,
    bytes_base64_encoded: Option<String>,
}

impl Ready {
    /// Out of an operation's `response`.
    pub(super) fn of(response: &Value) -> Result<Self, String> {
        let response = Response::deserialize(response).map_err(|error| error.to_string())?;
        let videos = response.videos.unwrap_or_default().into_iter().map(Video::source);
        let videos = videos.collect::<Option<_>>().ok_or("a video without bytes and without an address")?;
        let filtered = response.rai_media_filtered_count.unwrap_or_default();
        let reasons = response.rai_media_filtered_reasons.unwrap_or_default();
        Ok(Self { videos, filtered, reasons })
    }
}

impl Video {
    fn source(self) -> Option<VideoSource> {
        if let Some(uri) = self.gcs_uri.filter(|uri| uri.starts_with("gs://")) {
            return Some(VideoSource::Uri(uri));
        }
        // The host has put a blob where long bytes were.
        let bytes = self.bytes_base64_encoded.filter(|bytes| !bytes.is_empty())?;
        let source =
            if bytes.starts_with("blob:") { bytes } else { format!("data:video/mp4;base64,{bytes}") };
        Some(VideoSource::Inline(source))
    }
}
