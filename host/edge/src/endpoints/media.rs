//! `GET /v1/media/{name}`: signed links to results. The signature is the only credential.

use gatehouse_driver::{MediaFile, MediaRefusal};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::backend::Backend;
use crate::errors::{Kind, Problem};
use crate::http::context::{EdgeContext as Front, EndpointRequest as Visit};
use crate::http::query::Query;
use crate::http::response::ResponseBody as Content;

/// The file behind a link, or the part of it that is asked for.
pub(super) async fn read<B: Backend>(
    front: &Front<B>,
    visit: &Visit<'_>,
) -> Result<Response<Content>, Problem> {
    let (name, headers) = (visit.open, &visit.parts.headers);
    let query = Query::parse(visit.parts.uri.query());
    let (Some(expires), Some(signature)) = (query.one("expires")?, query.one("signature")?) else {
        return Err(not_found());
    };
    let tag = format!("\"{name}\"");
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let range = range.filter(|_| is_still(headers, &tag));
    let opened = front.backend.media(name, expires, signature, range).await;
    let file = opened.map_err(|refusal| match refusal {
        MediaRefusal::NotFound => not_found(),
        MediaRefusal::Expired => Problem::new(Kind::LinkExpired, "this link has expired"),
        MediaRefusal::BadRange(length) => {
            let message = format!("Range: outside the {length} bytes of this file");
            Problem::new(Kind::BadRange, message)
                .about("Range")
                .with(header::CONTENT_RANGE, &format!("bytes */{length}"))
        }
        MediaRefusal::Broken => Problem::internal("the media store failed"),
    })?;
    Ok(respond(file, name, &tag, headers))
}

fn respond(file: MediaFile, name: &str, tag: &str, asked: &HeaderMap) -> Response<Content> {
    let mut response = Response::new(Content::empty());
    let length = file.range.end.saturating_sub(file.range.start);
    let unchanged = asked.get_all(header::IF_NONE_MATCH).iter().any(|value| names(value, tag));
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else if length > 0 && file.partial {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let part = format!("bytes {}-{}/{}", file.range.start, file.range.end - 1, file.length);
        set(&mut response, header::CONTENT_RANGE, &part);
    }
    set(&mut response, header::ETAG, tag);
    // A link is a secret of its holder; its content never changes.
    set(&mut response, header::CACHE_CONTROL, "private, max-age=86400, immutable");
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    if !unchanged {
        set(&mut response, header::CONTENT_TYPE, file.mime);
        set(&mut response, header::CONTENT_DISPOSITION, &format!("inline; filename=\"{name}\""));
        set(&mut response, header::CONTENT_LENGTH, &length.to_string());
        *response.body_mut() = Content::Pieces(file.body, length);
    }
    response
}

/// Sets a header whose value we made ourselves; a name or type that no header can carry is left out.
fn set(response: &mut Response<Content>, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// `If-Range`: a range counts only for the file the client already holds a part of.
fn is_still(headers: &HeaderMap, tag: &str) -> bool {
    headers.get(header::IF_RANGE).is_none_or(|value| value.as_bytes() == tag.as_bytes())
}

/// Whether one `If-None-Match` line names the tag. Weak comparison, as RFC 9110 wants it here.
fn names(value: &HeaderValue, tag: &str) -> bool {
    let text = value.to_str().unwrap_or_default();
    text.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "no such file, or the link is damaged")
}
