//! `GET /v1/media/{name}`: signed links to results. The signature is the only credential. Byte ranges are
//! parsed by the driver.

use std::time::Duration;

use gatehouse_driver::{MediaFile, MediaRefusal};
use gatehouse_model::UnixMs;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::endpoints::documentation::is_known;
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::EndpointRequest;
use crate::http::query::Query;
use crate::response::ResponseBody;

/// What a client is asked to wait for a media store that does not answer.
pub(super) const STORE_PAUSE: Duration = Duration::from_secs(5);

/// The file behind a link, or the requested part of it.
pub(super) async fn read(request: &EndpointRequest<'_>) -> Outcome {
    let (name, headers) = (request.param, &request.parts.headers);
    let query = Query::parse(request.parts.uri.query());
    let (Some(expires), Some(signature)) = (query.one("expires")?, query.one("signature")?) else {
        return Err(not_found());
    };
    let tag = format!("\"{name}\"");
    let found = request.context.backend.media(name, expires, signature, range(headers, &tag)).await;
    Ok(respond(found.map_err(refusal)?, name, &tag, headers, request.context.clock.now()))
}

/// Why a file is not served.
pub(super) fn refusal(refusal: MediaRefusal) -> Refusal {
    match refusal {
        MediaRefusal::NotFound => not_found(),
        MediaRefusal::Expired => Refusal::new(Kind::LinkExpired, "this link has expired"),
        MediaRefusal::BadRange(length) => {
            let message = format!("Range: outside the {length} bytes of this file");
            Refusal::new(Kind::BadRange, message)
                .with_param("Range")
                .with_header(header::CONTENT_RANGE, &format!("bytes */{length}"))
        }
        unavailable @ MediaRefusal::Unavailable => {
            Refusal::new(Kind::Busy, unavailable.to_string()).with_retry_after(Some(STORE_PAUSE))
        }
        MediaRefusal::Broken => Refusal::internal("the media store failed"),
    }
}

/// Why the file of a result is not served; `gone` says that it is no longer kept.
pub(super) fn result_refusal(refusal: MediaRefusal, gone: impl FnOnce() -> Refusal) -> Refusal {
    match refusal {
        MediaRefusal::NotFound | MediaRefusal::Expired => gone(),
        other => self::refusal(other),
    }
}

/// The answer with a file of that name and version.
pub(super) fn respond(
    file: MediaFile,
    name: &str,
    tag: &str,
    request: &HeaderMap,
    now: UnixMs,
) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    let length = file.range.end.saturating_sub(file.range.start);
    let unchanged = is_known(request, tag.as_bytes());
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else if length > 0 && file.partial {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let part = format!("bytes {}-{}/{}", file.range.start, file.range.end - 1, file.length);
        set(&mut response, header::CONTENT_RANGE, &part);
    }
    set(&mut response, header::ETAG, tag);
    // A link is its holder's secret; its content never changes, and no cache outlives the link.
    let left = file.expires.since(now).as_secs();
    set(&mut response, header::CACHE_CONTROL, &format!("private, max-age={left}, immutable"));
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    // What a browser shows of it runs no script and has no origin: it stands under the gateway's own address.
    set(&mut response, header::CONTENT_SECURITY_POLICY, "sandbox");
    if !unchanged {
        set(&mut response, header::CONTENT_TYPE, file.mime);
        set(&mut response, header::CONTENT_DISPOSITION, &format!("inline; filename=\"{name}\""));
        set(&mut response, header::CONTENT_LENGTH, &length.to_string());
        *response.body_mut() = ResponseBody::Pieces(file.body, length);
    }
    response
}

/// Sets a header made by the gateway; a value that no header can carry is left out.
fn set(response: &mut Response<ResponseBody>, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// The part that a client asks for. With `If-Range` it counts only for the file of which the client already has a part.
pub(super) fn range<'h>(headers: &'h HeaderMap, tag: &str) -> Option<&'h str> {
    let is_of_file = headers.get(header::IF_RANGE).is_none_or(|value| value.as_bytes() == tag.as_bytes());
    headers.get(header::RANGE).filter(|_| is_of_file)?.to_str().ok()
}

fn not_found() -> Refusal {
    Refusal::new(Kind::NotFound, "no such file, or the link is damaged")
}
