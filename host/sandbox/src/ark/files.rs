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
use crate::common::server::{Handler, HandlerResult, reply, with, xml};
use gatehouse_sandbox_files::Picture;

/// The listener of files.
pub(crate) struct FilesEndpoint(pub(crate) Arc<Provider>);

impl Handler for FilesEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(with(xml(405, "MethodNotAllowed"), "allow", "GET, HEAD"));
        }
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        if !self.0.links.opens(path, query, self.0.now()) {
            return Ok(xml(403, "AccessDenied"));
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let (id, kind) = name.rsplit_once('.').unwrap_or_default();
        let found = self.0.state().tasks.download(id);
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
                match self.0.pictures.file(frame).await {
                    Some(file) => reply(200, "image/png", file),
                    None => xml(500, "InternalError"),
                }
            }
        })
    }
}
