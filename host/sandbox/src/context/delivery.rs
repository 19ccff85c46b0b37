//! The delivery origin: result files behind signed links that expire, with the replies of a blob store.

use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;

use crate::common::clock::iso;
use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{Body, HandlerResult, SIGN_IN_PAGE, reply, truncated, with};
use crate::context::faults::Marker;
use crate::context::provider::Provider;
use crate::context::signature::{self, LinkError};
use gatehouse_sandbox_files::Picture;

/// The delivery listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let refused = xml(405, "UnsupportedHttpVerb", "Not supported here.", "");
        return Ok(with(refused, "allow", "GET, HEAD"));
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let now = provider.now();
    if let Err(link_error) = signature::check(&provider.key, path, query, now) {
        return Ok(forbidden(link_error, now));
    }
    let Some((id, picture, fault)) = find(&provider, path) else {
        return Ok(xml(404, "BlobNotFound", "The specified blob does not exist.", ""));
    };
    let mime = picture.format.to_mime_type();
    let file = match (fault, provider.pictures.file(picture).await) {
        (Some(Marker::FileUnavailable), _) => {
            return Ok(xml(503, "ServerBusy", "The server is busy.", ""));
        }
        (Some(Marker::WrongType), _) => return Ok(reply(200, "text/html", SIGN_IN_PAGE)),
        (_, None) => return Ok(xml(500, "InternalError", "The file is broken.", "")),
        (Some(_), Some(file)) => return Ok(truncated(mime, &file)),
        (None, Some(file)) => file,
    };
    if request.method() == Method::GET
        && let Some(job) = provider.table().jobs.get_mut(&id)
    {
        job.record.deliveries = job.record.deliveries.saturating_add(1);
    }
    Ok(reply(200, mime, file))
}

/// The job of a path, its picture, and the fault of this download.
fn find(provider: &Provider, path: &str) -> Option<(String, Picture, Option<Marker>)> {
    let (id, _) = path.rsplit('/').next()?.split_once("_sample.")?;
    let mut table = provider.table();
    let job = table.jobs.get_mut(id)?;
    Some((id.to_owned(), job.picture, job.faults.at_after(Target::File, count(&mut job.downloads))))
}

fn forbidden(link_error: LinkError, now: u64) -> Response<Body> {
    let detail = match link_error {
        LinkError::Forged => "Signature did not match.".to_owned(),
        LinkError::Expired(end) => {
            format!("Signed expiry time [{end}] has to be after the current time [{}].", iso(now))
        }
    };
    let message = "Server failed to authenticate the request. Make sure the value of Authorization header is \
                   formed correctly including the signature.";
    let detail = format!("<AuthenticationErrorDetail>{detail}</AuthenticationErrorDetail>");
    xml(403, "AuthenticationFailed", message, &detail)
}

fn xml(status: u16, code: &str, message: &str, detail: &str) -> Response<Body> {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
         <Error><Code>{code}</Code><Message>{message}</Message>{detail}</Error>"
    );
    reply(status, "application/xml", body)
}
