//! Input pictures and masks: base64 and `data:` URIs are decoded to pixels. Links are not fetched: those to this
//! provider's own files stand for the tile they show, and of others the host says whether they are there ([`links`]). A
//! picture that cannot be fetched is refused like one that cannot be read.

use base64::Engine as _;
use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::common::links;
use crate::common::picture::BASE64;
use crate::midjourney::engine::colour::{self, Hue};
use crate::midjourney::link::parts;
use crate::midjourney::provider::Provider;
use crate::midjourney::refusal::Refusal;

/// The largest input file, decoded.
const MAX_BYTES: usize = 20_000_000;
/// What a picture counts as whose pixels nobody has seen.
const UNSEEN: (u32, u32) = (1024, 1024);

/// A picture of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InputPicture {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Of the pixel in the middle.
    pub(super) hue: Hue,
    /// What the record keeps of it.
    pub(super) record: Value,
}

/// A mask of a modal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InputArea {
    pub(super) size: (u32, u32),
    pub(super) record: Value,
}

/// Inspects a picture: a link, a `data:` URI or bare base64. `name` is its field's, for the refusal.
pub(super) async fn picture(provider: &Provider, text: &str, name: &str) -> Result<InputPicture, Refusal> {
    let unusable = || Refusal::invalid(&format!("{name}格式错误"));
    if text.starts_with("http://") || text.starts_with("https://") {
        return if links::is_there(text) { Ok(linked(provider, text)) } else { Err(unusable()) };
    }
    let owned = text.to_owned();
    let decoded = tokio::task::spawn_blocking(move || decode(&owned)).await.map_err(|_| Refusal::broken())?;
    let (_, image, record) = decoded.ok_or_else(unusable)?;
    let (width, height) = image.dimensions();
    let hue = colour::hue(image.get_pixel(width / 2, height / 2).0);
    Ok(InputPicture { width, height, hue, record })
}

/// Inspects a mask: a PNG as `data:` URI.
pub(super) async fn mask(text: &str) -> Result<InputArea, Refusal> {
    let owned = text.to_owned();
    let decoded = tokio::task::spawn_blocking(move || decode(&owned)).await.map_err(|_| Refusal::broken())?;
    let is_uri = text.starts_with("data:image/png;base64,");
    let png = decoded.filter(|(format, ..)| is_uri && *format == ImageFormat::Png);
    let (_, image, mut record) = png.ok_or_else(|| Refusal::invalid("maskBase64格式错误"))?;
    let white = image.pixels().filter(|pixel| pixel.0.iter().all(|channel| *channel > 127)).count();
    record["repainted"] = (white * 100 / image.pixels().len().max(1)).into();
    Ok(InputArea { size: image.dimensions(), record })
}

/// A picture by link.
fn linked(provider: &Provider, url: &str) -> InputPicture {
    let record = json!({ "url": url });
    let own =
        url.strip_prefix(&provider.addresses.files).and_then(|rest| rest.split('?').next()).and_then(parts);
    let shown = own.and_then(|(id, name)| {
        let number = name.strip_prefix("tile_").and_then(|rest| rest.strip_suffix(".png"));
        let at = number.map_or(Some(0), |number| number.parse::<usize>().ok()?.checked_sub(1))?;
        let mut tasks = provider.table();
        let task = tasks.any(id)?;
        Some((*task.hues.get(at)?, task.record.size))
    });
    let (hue, (width, height)) = shown.unwrap_or_else(|| {
        let digest = Sha256::digest(url);
        (u16::from(digest[0]), UNSEEN)
    });
    InputPicture { width, height, hue, record }
}

/// Format, pixels and record of a picture in the body itself.
fn decode(text: &str) -> Option<(ImageFormat, RgbImage, Value)> {
    let encoded = match text.strip_prefix("data:") {
        Some(uri) => uri.split_once(";base64,")?.1,
        None => text,
    };
    let bytes = BASE64.decode(encoded).ok().filter(|bytes| bytes.len() <= MAX_BYTES)?;
    let format = image::guess_format(&bytes).ok()?;
    let image = image::load_from_memory_with_format(&bytes, format).ok()?;
    // Transparent pixels of a mask are kept, as black ones are.
    let image = if image.color().has_alpha() {
        let mut rgba = image.to_rgba8();
        for pixel in rgba.pixels_mut().filter(|pixel| pixel.0[3] == 0) {
            pixel.0 = [0, 0, 0, 0];
        }
        image::DynamicImage::ImageRgba8(rgba).to_rgb8()
    } else {
        image.to_rgb8()
    };
    let hex = format!("{:x}", Sha256::digest(&bytes));
    let record =
        json!({ "sha256": hex, "bytes": bytes.len(), "width": image.width(), "height": image.height() });
    Some((format, image, record))
}
