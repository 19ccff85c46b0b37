//! The videos of a finished operation.

use gatehouse_sdk::lenient;
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
    #[serde(deserialize_with = "lenient::list")]
    videos: Vec<Video>,
    #[serde(deserialize_with = "lenient::value")]
    rai_media_filtered_count: Option<u64>,
    #[serde(deserialize_with = "lenient::list")]
    rai_media_filtered_reasons: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Video {
    #[serde(deserialize_with = "lenient::word")]
    gcs_uri: Option<String>,
    #[serde(deserialize_with = "lenient::word")]
    bytes_base64_encoded: Option<String>,
}

impl Ready {
    /// Out of an operation's `response`.
    pub(super) fn of(response: &Value) -> Result<Self, String> {
        let response = Response::deserialize(response).map_err(|error| error.to_string())?;
        let came = response.videos.len();
        // What there is, is delivered and charged.
        let videos: Vec<_> = response.videos.into_iter().filter_map(Video::source).collect();
        if videos.is_empty() && came > 0 {
            return Err("a video without bytes and without an address".to_owned());
        }
        let filtered = response.rai_media_filtered_count.unwrap_or_default();
        let reasons = response.rai_media_filtered_reasons;
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
