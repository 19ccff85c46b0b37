//! Makes the images of a call and writes its answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::faults::{Faults, Marker};
use super::provider::Provider;
use super::reference::Reference;
use super::refusal::Refusal;
use super::schema::{ImageOrder, pixels};
use super::table::StoredImage;
use crate::common::faults::Target;
use gatehouse_sandbox_files::Picture;

const FORMAT: ImageFormat = ImageFormat::Jpeg;

/// A good answer.
pub(super) struct Answer {
    pub(super) body: Value,
    /// Images handed over.
    pub(super) images: u32,
    /// The bill.
    pub(super) ticks: u64,
}

/// Makes the images of a call; `number` is the call's.
pub(super) async fn make(
    provider: &Provider,
    number: u64,
    order: &ImageOrder,
    references: &[Reference],
    faults: &Faults,
) -> Result<Answer, Refusal> {
    if faults.has(Marker::BlockedInput) {
        let body = json!({ "data": [], "block_reason": "prompt", "usage": { "cost_in_usd_ticks": 0 } });
        return Ok(Answer { body, images: 0, ticks: 0 });
    }
    let made = if faults.has(Marker::Empty) { 0 } else { order.n };
    let filtered = faults.filtered(made);
    let mut data = Vec::new();
    for index in 0..made {
        // A filtered image has been made as well, and is billed.
        data.push(if index < filtered {
            json!({ "respect_moderation": false, "revised_prompt": "" })
        } else {
            let image = picture(order, references, index);
            item(provider, number, order, image, index, faults).await?
        });
    }
    let ticks = order.model.ticks * u64::from(made);
    let body = json!({ "data": data, "usage": { "cost_in_usd_ticks": ticks } });
    Ok(Answer { body, images: made - filtered, ticks })
}

async fn item(
    provider: &Provider,
    number: u64,
    order: &ImageOrder,
    picture: Picture,
    index: u32,
    faults: &Faults,
) -> Result<Value, Refusal> {
    let mut item = json!({ "mime_type": FORMAT.to_mime_type(), "revised_prompt": "" });
    if order.base64 || faults.has(Marker::Base64) || faults.has(Marker::Base64Head) {
        let file = provider.pictures.file(picture).await.ok_or_else(Refusal::broken)?;
        let head = if faults.has(Marker::Base64Head) { "data:image/jpeg;base64," } else { "" };
        item["b64_json"] = format!("{head}{}", STANDARD.encode(file)).into();
        return Ok(item);
    }
    let fault = faults.fault(Target::Link);
    let is_dead = fault == Some(Marker::DeadLink) || fault == Some(Marker::OneDeadLink) && index == 0;
    let until = provider.settings.link_end(provider.now(), is_dead);
    let stored = StoredImage { picture, faults: faults.clone(), call: number, until, downloads: 0 };
    let id = provider.table().store(stored).map_err(|_| Refusal::broken())?;
    let host = match fault {
        Some(Marker::PrivateLink) => "http://169.254.169.254",
        Some(Marker::ForeignLink) => "https://imgen.foreign.example",
        _ => &provider.addresses.files,
    };
    item["url"] = format!("{host}/xai-imgen/xai-tmp-imgen-{id}.jpeg").into();
    Ok(item)
}

/// The picture of that index: the same call gets the same pictures, each of its images another one.
fn picture(order: &ImageOrder, references: &[Reference], index: u32) -> Picture {
    let first = references.first().map(|first| f64::from(first.width) / f64::from(first.height));
    // A single reference decides; several leave it to `aspect_ratio`, if there is one.
    let ratio = match (first, order.ratio) {
        (Some(first), _) if order.is_single => first,
        (first, asked) => asked.or(first).unwrap_or(1.0),
    };
    let (width, height) = pixels(ratio, order.side);
    let mut digest = Sha256::new();
    for part in [order.model.id, &order.prompt, &index.to_string()] {
        // Each part ends with its length, so that no two lists of parts read the same.
        digest.update(part);
        digest.update(part.len().to_le_bytes());
    }
    for reference in references {
        digest.update(reference.digest);
    }
    Picture { width, height, format: FORMAT, digest: digest.finalize().into() }
}
