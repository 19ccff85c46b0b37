//! Looks at an image in a request: its base64, its real kind, its size in pixels.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagesize::ImageType;

/// An image that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) mime: &'static str,
    pub(crate) bytes: usize,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Seen {
    /// `image/png 12x7`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}x{}", self.mime, self.width, self.height)
    }

    /// One for every begun 750 pixels.
    pub(crate) fn tokens(&self) -> u64 {
        self.width.saturating_mul(self.height).div_ceil(750)
    }
}

/// Why it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    Base64,
    /// None of PNG, JPEG, GIF and WebP.
    Kind,
    /// Of a known kind, but cut off.
    Broken,
}

/// Decodes and measures.
pub(crate) fn look(base64: &str) -> Result<Seen, Bad> {
    let bytes = STANDARD.decode(base64).map_err(|_| Bad::Base64)?;
    let mime = match imagesize::image_type(&bytes) {
        Ok(ImageType::Png) => "image/png",
        Ok(ImageType::Jpeg) => "image/jpeg",
        Ok(ImageType::Gif) => "image/gif",
        Ok(ImageType::Webp) => "image/webp",
        _ => return Err(Bad::Kind),
    };
    let size = imagesize::blob_size(&bytes).map_err(|_| Bad::Broken)?;
    let side = |pixels: usize| u64::try_from(pixels).unwrap_or(u64::MAX);
    Ok(Seen { mime, bytes: bytes.len(), width: side(size.width), height: side(size.height) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::picture::{Format, Picture};

    #[test]
    fn kinds_and_sizes() {
        for format in [Format::Jpeg, Format::Png, Format::Webp] {
            let file = Picture { width: 12, height: 7, format, digest: [1; 32] }.encode().expect("encodes");
            let seen = look(&STANDARD.encode(file)).expect("an image");
            assert_eq!((seen.name(), seen.tokens()), (format!("{} 12x7", format.mime()), 1));
        }
        let gif = look(&STANDARD.encode(b"GIF89a\x2c\x01\xc8\x00\x00\x00\x00;")).expect("an image");
        assert_eq!((gif.name().as_str(), gif.tokens()), ("image/gif 300x200", 80));
    }

    #[test]
    fn what_is_none() {
        for (text, bad) in [
            ("@@", Bad::Base64),
            ("iVBORw0KGgo", Bad::Base64),
            ("", Bad::Kind),
            ("aGVsbG8gd29ybGQ=", Bad::Kind),
            ("iVBORw0KGgo=", Bad::Kind),
            ("iVBORw0KGgoAAAANSUhEUg==", Bad::Broken),
        ] {
            assert_eq!(look(text), Err(bad), "{text}");
        }
    }
}
