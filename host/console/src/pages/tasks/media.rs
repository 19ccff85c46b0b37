//! Results as they are: other people's bytes, so they get a policy that lets them do nothing, and only kinds that a
//! browser shows without running anything are shown in a page.

use axum::response::IntoResponse as _;
use gatehouse_admin::{MediaFile, MediaRefusal, ResponseBody};
use gatehouse_model::{Task, TaskId};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, RANGE,
};
use http::{HeaderValue, Response, StatusCode};

use crate::error::{Outcome, PageError};
use crate::request::PageRequest;

/// Whatever it is, it runs nothing and loads nothing.
const POLICY: &str = "sandbox; default-src 'none'";

/// The address of a task's result.
pub(super) fn address(task: &Task, at: usize) -> String {
    format!("/admin/media/{}.{at}", task.id)
}

/// `GET /admin/media/<task>.<n>`, whole or a range of it.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let unknown = || PageError::not_found(format!("no result {:?}", request.id));
    let (task, at) = request.id.split_once('.').ok_or_else(unknown)?;
    let (task, at): (TaskId, usize) =
        (task.parse().map_err(|_| unknown())?, at.parse().map_err(|_| unknown())?);
    let range = request.headers.get(RANGE).and_then(|range| range.to_str().ok());
    let file = match request.pages.service.tasks.media(task, at, range).await? {
        Ok(file) => file,
        Err(MediaRefusal::BadRange(length)) => return Ok(not_in_range(length)),
        Err(unavailable @ MediaRefusal::Unavailable) => {
            return Err(PageError::new(StatusCode::SERVICE_UNAVAILABLE, unavailable.to_string()));
        }
        Err(MediaRefusal::Broken) => {
            return Err(PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "the media store failed"));
        }
        Err(refusal) => return Err(PageError::not_found(refusal.to_string())),
    };
    Ok(respond(file))
}

fn respond(file: MediaFile) -> Response<ResponseBody> {
    let MediaFile { mime, length, range, partial, body, .. } = file;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(mime)),
        (CONTENT_LENGTH, HeaderValue::from(range.end - range.start)),
        (ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    let mut response = (headers, ResponseBody::from_stream(body)).into_response();
    let headers = response.headers_mut();
    if !is_shown(mime) {
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    if partial {
        let part = format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1));
        headers.insert(CONTENT_RANGE, HeaderValue::from_str(&part).expect("digits and punctuation"));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

/// Pictures, films and sounds; an SVG picture is a document that may have scripts.
fn is_shown(mime: &str) -> bool {
    let kind = mime.split('/').next();
    matches!(kind, Some("image" | "video" | "audio")) && !mime.contains("svg")
}

fn not_in_range(length: u64) -> Response<ResponseBody> {
    (StatusCode::RANGE_NOT_SATISFIABLE, [(CONTENT_RANGE, format!("bytes */{length}"))]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_run_is_not_shown() {
        for (mime, shown) in [
            ("image/png", true),
            ("video/mp4", true),
            ("audio/wav", true),
            ("image/svg+xml", false),
            ("text/html", false),
            ("application/octet-stream", false),
        ] {
            assert_eq!(is_shown(mime), shown, "{mime}");
        }
    }
}
