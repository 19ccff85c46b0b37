//! The origin of results: films and last frames behind signed links that expire, as the provider's object store has them.

use std::sync::Arc;

use http::header::RANGE;
use http::{Method, Request};
use hyper::body::Incoming;
use image::ImageFormat;
use sha2::{Digest, Sha256};

use crate::ark::faults::Marker;
use crate::ark::provider::Provider;
use crate::common::sample_media::SampleMedia;
use crate::common::server::{HandlerResult, parameter, reply, with, xml};
use crate::common::shared::SigningKey;
use gatehouse_sandbox_files::Picture;

/// The listener of files: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(with(xml(405, "MethodNotAllowed"), "allow", "GET, HEAD"));
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    if !opens(&provider.key, path, query, provider.now()) {
        return Ok(xml(403, "AccessDenied"));
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let (id, kind) = name.rsplit_once('.').unwrap_or_default();
    let found = provider.table().tasks.download(id);
    let Some((film, fault)) = found else { return Ok(xml(404, "NoSuchKey")) };
    Ok(match (fault, kind) {
        (Some(Marker::FileUnavailable), _) => xml(503, "ServiceUnavailable"),
        (Some(Marker::WrongType), _) => reply(200, "text/html", "<html><body>Sign in</body></html>\n"),
        (_, "mp4") => {
            let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
            match SampleMedia::Mp4(film).file(None) {
                Some(file) => file.answer(range),
                None => xml(500, "InternalError"),
            }
        }
        _ => {
            let (width, height) = (film.width, film.height);
            let digest = Sha256::digest(id).into();
            let frame = Picture { width, height, format: ImageFormat::Png, digest };
            match provider.pictures.file(frame).await {
                Some(file) => reply(200, "image/png", file),
                None => xml(500, "InternalError"),
            }
        }
    })
}

/// The query of a link to `path` that ends at `until`, ms.
pub(crate) fn link_query(key: &SigningKey, path: &str, until: u64) -> String {
    format!("X-Tos-Expires={until}&X-Tos-Signature={}", key.code(&format!("{path}\n{until}")))
}

fn opens(key: &SigningKey, path: &str, query: &str, now: u64) -> bool {
    let until = parameter(query, "X-Tos-Expires").and_then(|until| until.parse::<u64>().ok());
    let signature = parameter(query, "X-Tos-Signature").unwrap_or_default();
    until.is_some_and(|until| now < until && key.code(&format!("{path}\n{until}")) == signature)
}
