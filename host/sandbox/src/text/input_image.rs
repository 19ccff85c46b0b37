//! Inspects an image of a request: its base64, its real format, its size in pixels.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagesize::ImageType;

/// Tokens of content that is not looked into.
pub(crate) const OPAQUE_TOKENS: u64 = 100;

/// An inspected image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputImage {
    pub(crate) mime: &'static str,
    pub(crate) bytes: usize,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl InputImage {
    /// `image/png 12x7`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}x{}", self.mime, self.width, self.height)
    }

    /// One for every begun 750 pixels.
    pub(crate) fn tokens(&self) -> u64 {
        self.width.saturating_mul(self.height).div_ceil(750)
    }
}

/// Why it is no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageError {
    Base64,
    /// None of PNG, JPEG, GIF and WebP.
    UnknownFormat,
    /// Of a known format, but incomplete.
    Truncated,
}

/// Whether a URL can be that of a page or a file.
pub(crate) fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// Decodes and measures.
pub(crate) fn inspect(base64: &str) -> Result<InputImage, ImageError> {
    let bytes = STANDARD.decode(base64).map_err(|_| ImageError::Base64)?;
    let mime = match imagesize::image_type(&bytes) {
        Ok(ImageType::Png) => "image/png",
        Ok(ImageType::Jpeg) => "image/jpeg",
        Ok(ImageType::Gif) => "image/gif",
        Ok(ImageType::Webp) => "image/webp",
        _ => return Err(ImageError::UnknownFormat),
    };
    let size = imagesize::blob_size(&bytes).map_err(|_| ImageError::Truncated)?;
    let side = |pixels: usize| u64::try_from(pixels).unwrap_or(u64::MAX);
    Ok(InputImage { mime, bytes: bytes.len(), width: side(size.width), height: side(size.height) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::ImageFormat as Format;

    use gatehouse_sandbox_files::Picture;

    #[test]
    fn formats_and_sizes() {
        for format in [Format::Jpeg, Format::Png, Format::WebP] {
            let file = Picture { width: 12, height: 7, format, digest: [1; 32] }.encode().expect("encodes");
            let image = inspect(&STANDARD.encode(file)).expect("an image");
            assert_eq!((image.name(), image.tokens()), (format!("{} 12x7", format.to_mime_type()), 1));
        }
        let gif = inspect(&STANDARD.encode(b"GIF89a\x2c\x01\xc8\x00\x00\x00\x00;")).expect("an image");
        assert_eq!((gif.name().as_str(), gif.tokens()), ("image/gif 300x200", 80));
    }

    #[test]
    fn other_data_is_refused() {
        #[rustfmt::skip]
        let table = [
            ("@@", ImageError::Base64), ("iVBORw0KGgo", ImageError::Base64), ("", ImageError::UnknownFormat),
            ("aGVsbG8gd29ybGQ=", ImageError::UnknownFormat), ("iVBORw0KGgo=", ImageError::UnknownFormat),
            ("iVBORw0KGgoAAAANSUhEUg==", ImageError::Truncated),
        ];
        for (text, bad) in table {
            assert_eq!(inspect(text), Err(bad), "{text}");
        }
    }
}
