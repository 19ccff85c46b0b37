//! Inspects input images: base64 and `data:` URIs are decoded to pixels, so a broken or unknown file is refused at
//! once. URLs are not fetched: a sample is what its name says, and of others the host says whether they are there
//! ([`links`]).

use std::io::Cursor;

use base64::Engine as _;
use image::{ImageFormat, ImageReader};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::sizes;
use crate::common::links;
use crate::common::picture::BASE64;
use crate::common::samples::named_size;
use crate::context::refusal::field_error;

/// The largest input file, decoded.
const MAX_BYTES: usize = 20_000_000;

/// An inspected input image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InputImage {
    pub(crate) field: &'static str,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Of the bytes, or of the URL.
    pub(crate) digest: [u8; 32],
    /// The record of the image in the job table.
    pub(crate) record: Value,
}

impl InputImage {
    pub(crate) fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// Inspects all images, or lists the errors. Takes long for large images.
pub(crate) fn inspect(
    images: &[(&'static str, String)],
    samples: &str,
) -> Result<Vec<InputImage>, Vec<Value>> {
    let (mut inspected, mut field_errors) = (Vec::new(), Vec::new());
    for (field, text) in images {
        let image = if text.starts_with("http://") || text.starts_with("https://") {
            linked(field, text, samples).ok_or(UNREACHABLE)
        } else {
            inline(field, text)
        };
        match image {
            Ok(image) => inspected.push(image),
            Err(reason) => {
                let msg = format!("Value error, {reason}");
                let input = Value::String(text.clone());
                let ctx = Some(json!({ "error": {} }));
                field_errors.push(field_error("value_error", json!(["body", field]), &msg, &input, ctx));
            }
        }
    }
    if field_errors.is_empty() { Ok(inspected) } else { Err(field_errors) }
}

/// An image by URL, if it is there. Only the sandbox's own samples say their size in their name.
fn linked(field: &'static str, url: &str, samples: &str) -> Option<InputImage> {
    let sample = url.strip_prefix(samples).and_then(|path| path.strip_prefix("/samples/"));
    if sample.map_or_else(|| !links::is_there(url), |name| name == "missing") {
        return None;
    }
    let (width, height) = sample
        .and_then(|name| named_size(name.split('?').next()?))
        .map_or(sizes::DEFAULT, |(width, height, _)| (width, height));
    let (digest, record) = (Sha256::digest(url).into(), json!({ "url": url }));
    Some(InputImage { field, width, height, digest, record })
}

/// An image in the body itself.
fn inline(field: &'static str, text: &str) -> Result<InputImage, &'static str> {
    let encoded = match text.strip_prefix("data:") {
        Some(uri) => uri.split_once(";base64,").ok_or("Invalid data URI: expected base64")?.1,
        None => text,
    };
    if encoded.len() / 4 * 3 > MAX_BYTES + 2 {
        return Err("Image file is larger than 20MB");
    }
    let bytes = BASE64.decode(encoded).map_err(|_| "Invalid base64 image")?;
    if bytes.len() > MAX_BYTES {
        return Err("Image file is larger than 20MB");
    }
    let reader = ImageReader::new(Cursor::new(&bytes)).with_guessed_format().map_err(|_| BAD_FILE)?;
    if !matches!(reader.format(), Some(ImageFormat::Jpeg | ImageFormat::Png | ImageFormat::WebP)) {
        return Err("Unsupported image format: expected PNG, JPEG or WebP");
    }
    let cut = reader.format() == Some(ImageFormat::Jpeg) && !ends(&bytes);
    let image = reader.decode().ok().filter(|_| !cut).ok_or(BAD_FILE)?;
    let (digest, width, height) = (Sha256::digest(&bytes), image.width(), image.height());
    let hex = format!("{digest:x}");
    let record = json!({ "sha256": hex, "bytes": bytes.len(), "width": width, "height": height });
    Ok(InputImage { field, width, height, digest: digest.into(), record })
}

/// Whether a JPEG's last scan is followed by its end marker: our decoder fills in what is missing, the
/// provider's does not. A preview inside the file has an end of its own, but stands before the scan.
fn ends(jpeg: &[u8]) -> bool {
    let end = jpeg.windows(2).rposition(|pair| pair == [0xff, 0xd9]);
    end.is_some_and(|end| !jpeg[end..].windows(2).any(|pair| pair == [0xff, 0xda]))
}

const UNREACHABLE: &str = "Image could not be downloaded from the URL";
const BAD_FILE: &str = "Image file is truncated or corrupt";

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_sandbox_files::Picture;

    fn file(format: ImageFormat) -> Vec<u8> {
        Picture { width: 120, height: 80, format, digest: [3; 32] }.encode().expect("encodes")
    }

    fn one(text: String) -> Result<(u32, u32), String> {
        match inspect(&[("input_image", text)], "http://127.0.0.1:1") {
            Ok(images) => Ok((images[0].width, images[0].height)),
            Err(field_errors) => Err(field_errors[0]["msg"].as_str().expect("a message").to_owned()),
        }
    }

    #[test]
    fn images_in_the_body() {
        for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
            let bytes = file(format);
            let bare = BASE64.encode(&bytes);
            assert_eq!(one(bare.clone()), Ok((120, 80)), "{format:?}");
            assert_eq!(one(bare.trim_end_matches('=').to_owned()), Ok((120, 80)));
            assert_eq!(one(format!("data:{};base64,{bare}", format.to_mime_type())), Ok((120, 80)));
            let cut = BASE64.encode(&bytes[..bytes.len() / 2]);
            assert_eq!(one(cut), Err(format!("Value error, {BAD_FILE}")), "{format:?}");
        }
    }

    #[test]
    fn other_data_is_refused() {
        for (text, reason) in [
            ("https://nohost.invalid/x.png".to_owned(), UNREACHABLE),
            ("http://127.0.0.1:1/samples/missing".to_owned(), UNREACHABLE),
            (String::new(), "Unsupported image format: expected PNG, JPEG or WebP"),
            ("not base64!".to_owned(), "Invalid base64 image"),
            ("data:image/png,AAAA".to_owned(), "Invalid data URI: expected base64"),
            (BASE64.encode("GIF89a and more"), "Unsupported image format: expected PNG, JPEG or WebP"),
            (BASE64.encode(b"\x89PNG\r\n\x1a\n"), BAD_FILE),
            ("A".repeat(28_000_000), "Image file is larger than 20MB"),
        ] {
            assert_eq!(one(text), Err(format!("Value error, {reason}")));
        }
    }

    #[test]
    fn images_by_url() {
        for (url, expected) in [
            ("http://127.0.0.1:1/samples/300x200.png", (300, 200)),
            ("http://127.0.0.1:1/samples/300x200.png?v=2", (300, 200)),
            ("http://127.0.0.1:12/samples/300x200.png", sizes::DEFAULT),
            ("https://pictures.example/kite.png", sizes::DEFAULT),
        ] {
            assert_eq!(one(url.to_owned()), Ok(expected), "{url}");
        }
    }
}
