//! Sources of images in a request: http(s) URLs, `data:` URIs, and files the host cut out of the request. The provider takes
//! bytes only, so each becomes a blob before it is sent.

use gatehouse_sdk::params::LINK_OR_FILE;
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};
use serde::{Deserialize, Serialize};

/// The provider's limit for one image.
const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// An image of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) field: String,
    pub(crate) source: String,
    /// Its type, once its bytes are a blob: `source` then names it.
    pub(crate) mime: Option<String>,
}

impl Image {
    /// An image the client named; one that is a blob already is judged at once.
    pub(crate) fn read(field: &str, source: String, blobs: &[Facts]) -> Result<Self, InvalidParam> {
        let image = Self { field: field.to_owned(), source, mime: None };
        match Source::of(&image.source) {
            Some(Source::Embedded(file)) => {
                image.check(&file.facts())?;
                Ok(Self { source: file.uri(), ..image })
            }
            Some(Source::Blob) => match source::blob(&image.source, blobs) {
                Some(facts) => image.with(facts),
                None => Err(image.invalid(format!("{LINK_OR_FILE}, got a file of another request"))),
            },
            _ => Ok(Self { source: source::normalised(&image.source), ..image }),
        }
    }

    /// The same once the host has looked at it.
    pub(crate) fn settle(self, finding: &Finding) -> Result<Self, Failure> {
        match &finding.found {
            Ok(facts) => self.with(facts).map_err(Failure::from),
            Err(reason) => Err(Failure::unavailable(&self.field, reason)),
        }
    }

    fn check(&self, facts: &Facts) -> Result<(), InvalidParam> {
        if facts.kind != MediaKind::Image || !matches!(facts.mime.as_str(), "image/jpeg" | "image/png") {
            return Err(self.invalid(format!("expected a JPEG or PNG image, got {}", facts.mime)));
        }
        if facts.bytes > MAX_BYTES {
            let problem = format!("expected at most 20 MB ({MAX_BYTES} bytes), got {} bytes", facts.bytes);
            return Err(self.invalid(problem));
        }
        Ok(())
    }

    fn with(self, facts: &Facts) -> Result<Self, InvalidParam> {
        self.check(facts)?;
        let Some(blob) = &facts.blob else {
            return Err(self.invalid("expected an image that can be kept, got none".to_owned()));
        };
        Ok(Self { source: blob.clone(), mime: Some(facts.mime.clone()), ..self })
    }

    fn invalid(&self, problem: String) -> InvalidParam {
        InvalidParam::at(Some(&self.field), problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_written_as_the_host_writes_it() {
        let read = Image::read("first_frame_image", "HTTPS://E.com/A".to_owned(), &[]);
        assert_eq!(read.map(|image| image.source).as_deref(), Ok("https://E.com/A"));
        let read = |source: &str| Image::read("a", source.to_owned(), &[]);
        let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";
        for written in [png.to_owned(), png.replace("png", "gif"), png.replace("data:image/png;base64,", "")]
        {
            assert_eq!(read(&written).map(|image| image.source).as_deref(), Ok(png), "{written}");
        }
        let refused = read("data:image/png;base64,R0lGODlhAQABAA==").expect_err("another kind");
        assert_eq!(refused.to_string(), "`a`: expected a JPEG or PNG image, got image/gif");
    }
}
