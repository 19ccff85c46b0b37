//! The files origin: finished images behind links that end. Needs no key.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

use super::faults::Marker;
use super::provider::Provider;
use super::table::StoredImage;
use crate::common::faults::Target;
use crate::common::server::{HandlerResult, SIGN_IN_PAGE, reply, truncated, with};

/// The files listener: answers its requests.
pub(super) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(with(reply(405, "text/plain", ""), "allow", "GET, HEAD"));
    }
    let Some(image) = find(&provider, request.uri().path()) else {
        return Ok(reply(404, "text/plain", "not found"));
    };
    let fault = image.faults.at_after(Target::File, image.downloads);
    let mime = image.picture.format.to_mime_type();
    let file = match (fault, provider.pictures.file(image.picture).await) {
        (Some(Marker::FileUnavailable), _) => return Ok(reply(503, "text/plain", "busy")),
        (Some(Marker::WrongType), _) => return Ok(reply(200, "text/html", SIGN_IN_PAGE)),
        (_, None) => return Ok(reply(500, "text/plain", "the file is broken")),
        (Some(_), Some(file)) => return Ok(truncated(mime, &file)),
        (None, Some(file)) => file,
    };
    if request.method() == Method::GET
        && let Some(call) = provider.table().call(image.call)
    {
        call.deliveries = call.deliveries.saturating_add(1);
    }
    Ok(reply(200, mime, file))
}

/// The image of a path, unless its link has ended. Counts the download.
fn find(provider: &Provider, path: &str) -> Option<StoredImage> {
    let id = path.strip_prefix("/xai-imgen/xai-tmp-imgen-")?.strip_suffix(".jpeg")?;
    let now = provider.now();
    let mut table = provider.table();
    let image = table.images.get_mut(id).filter(|image| now < image.until)?;
    let found = image.clone();
    image.downloads = image.downloads.saturating_add(1);
    Some(found)
}
