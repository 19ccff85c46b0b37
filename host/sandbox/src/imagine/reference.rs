//! Inspects the references of an edit: `data:` URIs are decoded to pixels, so a broken or unknown file is refused.
//! An https URL is not fetched: its host says whether it is there ([`links`]).

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, ImageReader};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::refusal::Refusal;
use crate::common::links;

/// The largest file, decoded.
const MAX_BYTES: usize = 10 << 20;
/// The size of a picture behind a URL.
const LINKED: (u32, u32) = (1024, 1024);

/// An inspected reference.
#[derive(Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Of the bytes, or of the URL.
    pub(super) digest: [u8; 32],
    /// What the record says in place of the URL.
    pub(super) record: Value,
}

/// Inspects all references. Takes long for large ones.
pub(super) fn inspect(urls: &[String]) -> Result<Vec<Reference>, Refusal> {
    urls.iter().map(|url| one(url).map_err(Refusal::argument)).collect()
}

fn one(url: &str) -> Result<Reference, &'static str> {
    if url.starts_with("https://") {
        if !links::is_there(url) {
            return Err(UNREACHABLE);
        }
        let (width, height) = LINKED;
        return Ok(Reference { width, height, digest: Sha256::digest(url).into(), record: json!(url) });
    }
    let uri = url.strip_prefix("data:image/").ok_or("Invalid image URL: expected https or a data URI.")?;
    let (_, encoded) =
        uri.split_once(";base64,").ok_or("Invalid image URL: expected base64 in the data URI.")?;
    let bytes = STANDARD.decode(encoded).map_err(|_| "Invalid base64 in the data URI of the image.")?;
    if bytes.len() > MAX_BYTES {
        return Err("Image is larger than the maximum allowed size of 10 MiB.");
    }
    let reader = ImageReader::new(Cursor::new(&bytes)).with_guessed_format().map_err(|_| BROKEN)?;
    let format = reader
        .format()
        .filter(|format| matches!(format, ImageFormat::Jpeg | ImageFormat::Png | ImageFormat::WebP));
    let format = format.ok_or("Unsupported image format: expected PNG, JPEG or WebP.")?;
    let image = reader.decode().map_err(|_| BROKEN)?;
    let (digest, width, height) = (Sha256::digest(&bytes), image.width(), image.height());
    let record = json!({
        "sha256": format!("{digest:x}"), "bytes": bytes.len(), "width": width, "height": height,
        "mime": format.to_mime_type(),
    });
    Ok(Reference { width, height, digest: digest.into(), record })
}

/// The provider fetches a reference while its client waits.
pub(super) const UNREACHABLE: &str = "Failed to download image from the provided URL.";
const BROKEN: &str = "The image could not be decoded.";

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_sandbox_files::Picture;

    fn file(format: ImageFormat) -> Vec<u8> {
        Picture { width: 120, height: 80, format, digest: [3; 32] }.encode().expect("encodes")
    }

    fn uri(bytes: &[u8]) -> String {
        format!("data:image/png;base64,{}", STANDARD.encode(bytes))
    }

    #[test]
    fn pictures_in_the_body() {
        for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
            let found = one(&uri(&file(format))).expect("a picture");
            assert_eq!((found.width, found.height), (120, 80), "{format:?}");
            assert_eq!(found.record["mime"], format.to_mime_type());
        }
        assert_eq!(one("https://e.com/a.png").map(|found| (found.width, found.height)), Ok(LINKED));
    }

    #[test]
    fn other_data_is_refused() {
        let png = file(ImageFormat::Png);
        let mut padded = png.clone();
        padded.resize(MAX_BYTES, 0);
        assert!(one(&uri(&padded)).is_ok(), "the largest file");
        padded.push(0);
        for (url, reason) in [
            ("https://nohost.invalid/x.png".to_owned(), UNREACHABLE),
            ("http://e.com/a.png".to_owned(), "Invalid image URL: expected https or a data URI."),
            (STANDARD.encode(&png), "Invalid image URL: expected https or a data URI."),
            ("data:image/png,AAAA".to_owned(), "Invalid image URL: expected base64 in the data URI."),
            ("data:image/png;base64,***".to_owned(), "Invalid base64 in the data URI of the image."),
            (uri(b"GIF89a and more"), "Unsupported image format: expected PNG, JPEG or WebP."),
            (uri(&png[..png.len() / 2]), BROKEN),
            (uri(&padded), "Image is larger than the maximum allowed size of 10 MiB."),
        ] {
            assert_eq!(one(&url), Err(reason));
        }
    }
}
