//! The files of finished operations: their bytes, and the listener of the buckets that Vertex AI writes to, with
//! the same tokens: downloads need the account's credentials.

use std::sync::Arc;

use gatehouse_sandbox_files::Film;
use http::{Method, Request};
use hyper::body::Incoming;
use url::form_urlencoded;

use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{HandlerResult, SIGN_IN_PAGE, reply, truncated, with};
use crate::veo::faults::{Faults, Marker, error};
use crate::veo::provider::{Provider, account};
use crate::veo::refusal::Refusal;

/// What is wrong with an operation's files, and how large they are.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::veo) struct VideoFile {
    pub(super) fault: Option<Marker>,
    mib: Option<u64>,
}

impl VideoFile {
    pub(super) fn of(faults: &Faults) -> Self {
        Self { fault: faults.fault(Target::File), mib: faults.number(Marker::Large) }
    }

    /// The bytes as the provider has them.
    pub(super) fn bytes(self, film: Film) -> Vec<u8> {
        let mut bytes = film.mp4();
        match self.fault {
            Some(Marker::WrongType) => return SIGN_IN_PAGE.as_bytes().to_vec(),
            Some(_) => bytes.truncate(bytes.len() / 2),
            None => {}
        }
        if let Some(mib) = self.mib {
            pad(&mut bytes, mib);
        }
        bytes
    }
}

/// Adds an empty box, up to a size. Its bytes are those of a text, so that base64 of them is not a run of one letter.
fn pad(bytes: &mut Vec<u8>, mib: u64) {
    let wanted = usize::try_from(mib << 20).unwrap_or(usize::MAX).min(150 << 20);
    let Some(rest) = wanted.checked_sub(bytes.len()).filter(|rest| *rest >= 8) else { return };
    let length = u32::try_from(rest).unwrap_or(u32::MAX);
    bytes.extend(length.to_be_bytes());
    bytes.extend(b"free");
    bytes.extend((8..rest).map(|at| (at % 251) as u8));
}

/// Sends a file to its account.
async fn send(provider: &Provider, account: usize, file: &str) -> HandlerResult {
    let now = provider.now();
    let found = provider.table().of_file(file, account, now).map(|operation| {
        let fault = operation.faults.at_after(Target::Link, count(&mut operation.tries));
        (operation.film, VideoFile::of(&operation.faults), fault)
    });
    let Some((film, kind, fault)) = found else {
        return Ok(Refusal::not_found("No such object.").response());
    };
    match fault {
        Some(Marker::RedirectAway) => {
            return Ok(with(reply(302, "text/plain", ""), "location", "http://169.254.169.254/latest/"));
        }
        Some(fault @ (Marker::DownloadDenied | Marker::DownloadUnavailable)) => {
            return Ok(error(fault).response());
        }
        _ => {}
    }
    let is_cut = kind.fault == Some(Marker::Truncated);
    let whole = VideoFile { fault: kind.fault.filter(|_| !is_cut), ..kind };
    let Ok(bytes) = tokio::task::spawn_blocking(move || whole.bytes(film)).await else {
        return Ok(error(Marker::Broken).response());
    };
    if is_cut {
        return Ok(truncated("video/mp4", &bytes.into()));
    }
    if let Some(operation) = provider.table().of_file(file, account, now) {
        operation.record.downloads = operation.record.downloads.saturating_add(1);
    }
    Ok(reply(200, "video/mp4", bytes))
}

/// The storage listener: answers its requests.
pub(in crate::veo) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let account = match account(&provider, request.headers()) {
        Ok(account) => account,
        Err(refusal) => return Ok(refusal.response()),
    };
    let path = request.uri().path().strip_prefix("/storage/v1/b/");
    let object = path.and_then(|path| path.split_once("/o/")).filter(|(_, object)| !object.contains('/'));
    let is_media = request.uri().query() == Some("alt=media");
    match (request.method(), object) {
        (&Method::GET, Some((bucket, object))) if is_media => {
            let file = format!("gs://{}/{}", decoded(bucket), decoded(object));
            send(&provider, account, &file).await
        }
        _ => Ok(Refusal::not_found("Not Found").response()),
    }
}

/// Percent-decoded. A plus sign stands for itself in a path.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B");
    form_urlencoded::parse(text.as_bytes()).map(|(name, _)| name.into_owned()).next().unwrap_or_default()
}
