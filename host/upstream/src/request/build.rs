//! A plugin's call as an HTTP request: where it goes, what it says, what it carries.
//!
//! Everything a plugin could get wrong or try is refused here, before a connection is looked for.

use bytes::Bytes;
use futures_util::TryStreamExt;
use gatehouse_contract::is_host_header;
use gatehouse_model::{BlobId, Body, Call, Header, Part, Payload as Content, Target, TraceParent};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use ring::digest::Digest;
use url::Url;

use crate::auth::credential::{Credential, Proof};
use crate::auth::extra::Extra;
use crate::client::exchange::{AGENT, Payload};
use crate::client::origin::{Origin, has_login};
use crate::config::check::Checked;
use crate::request::body::{self, Blobs, OpenBlob, Piece};
use crate::request::splice::{SpliceForm, splices};

/// Bytes of a blob that goes out as text: far more than the JSON of a request may have.
const MAX_TEXT: u64 = 16 << 20;

/// Why a call is not made. For the log; a plugin only learns that it was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("the method {0:?} is not one of GET, HEAD, POST, PUT, PATCH, DELETE")]
    Method(String),
    #[error("the path must begin with / and stay below the base URL")]
    Path,
    #[error("the URL is not inside the provider's origins ({0})")]
    Origin(String),
    #[error("not the plugin's to set: {0}")]
    Header(String),
    #[error("the credential's place on the request is taken")]
    CredentialTaken,
    #[error("the body or a form field has an unusable type or name")]
    Form,
    #[error("{0:?} is not a blob of this task")]
    Blob(String),
    #[error("{0} is not a text of at most {max} MiB", max = MAX_TEXT >> 20)]
    Text(String),
    #[error("a blob could not be read: {0}")]
    Broken(#[source] std::io::Error),
}

/// Makes the request. `boundary` must be unpredictable: it separates the parts of a form. A signature is not made here:
/// it covers the whole.
pub(crate) async fn build(
    provider: &Checked,
    extra: Option<&Extra>,
    credential: &Credential,
    proof: &Proof,
    call: &Call,
    blobs: &dyn Blobs,
    boundary: u64,
) -> Result<Request<Payload>, RequestError> {
    let method = method(&call.method)?;
    let mut url = target(provider, &call.target)?;
    let mut headers = headers(&call.headers, credential).map_err(RequestError::Header)?;
    if let Some(extra) = extra {
        extra.apply(&mut url, &mut headers);
    }
    if let Proof::AtLocation(location, text) = proof
        && !location.apply(text, &mut url, &mut headers)
    {
        return Err(RequestError::CredentialTaken);
    }
    match &call.body {
        Content::None => {}
        Content::Json(_) => {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        Content::Form(_) => {
            let mime = format!("multipart/form-data; boundary={}", separator(boundary));
            set_type(&mut headers, &mime, "a form")?;
        }
        Content::Raw { mime, .. } => set_type(&mut headers, mime, "a raw body")?,
    }
    let (body, length, unread) = body::body(pieces(&call.body, boundary, blobs).await?);
    // Without it the body would be announced as chunked, even one that is not there.
    if length > 0 || !matches!(method, Method::GET | Method::HEAD) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = url.as_str().parse().map_err(|_| RequestError::Path)?;
    *request.headers_mut() = headers;
    request.extensions_mut().insert(unread);
    Ok(request)
}

/// The SHA-256 of the body that [`build`] makes of the same arguments.
pub(crate) async fn digest(call: &Call, blobs: &dyn Blobs, boundary: u64) -> Result<Digest, RequestError> {
    let pieces = pieces(&call.body, boundary, blobs).await?;
    body::digest(pieces).await.map_err(RequestError::Broken)
}

fn method(name: &str) -> Result<Method, RequestError> {
    match name {
        "GET" => Ok(Method::GET),
        "HEAD" => Ok(Method::HEAD),
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        "DELETE" => Ok(Method::DELETE),
        other => Err(RequestError::Method(other.to_owned())),
    }
}

/// The URL of a call: below the base, or in full inside the origins that may see the credential.
fn target(provider: &Checked, target: &Target) -> Result<Url, RequestError> {
    let url = match target {
        Target::Path(path) => below(&provider.base, path).ok_or(RequestError::Path)?,
        Target::Url(text) => Url::parse(text).map_err(|_| RequestError::Origin("not a URL".to_owned()))?,
    };
    let origin = Origin::of(&url).filter(|_| !has_login(&url));
    match origin {
        Some(origin) if provider.origins.iter().any(|pattern| pattern.covers(&origin)) => Ok(url),
        Some(origin) => Err(RequestError::Origin(origin.to_string())),
        None => Err(RequestError::Origin("no plain http(s) URL".to_owned())),
    }
}

/// The URL of a path that is written behind the base. It is read as relative to it: so it names no host, and that of the base, which
/// takes longest to parse, is not parsed again.
fn below(base: &Url, path: &str) -> Option<Url> {
    let url = base.join(&format!(".{path}")).ok()?;
    // `..` is resolved by the parser, so a climb out of the base shows here.
    (path.starts_with('/') && url.path().starts_with(base.path())).then_some(url)
}

/// The headers a plugin asked for; the error names the one it may not set.
fn headers(asked: &[Header], credential: &Credential) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for Header { name, value } in asked {
        let name = HeaderName::try_from(name.as_str()).map_err(|_| format!("header name {name:?}"))?;
        let text = name.as_str();
        if credential.owns(text) || is_host_header(text) {
            return Err(format!("header {text}"));
        }
        let value = HeaderValue::from_str(value).map_err(|_| format!("the value of header {text}"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Says in which trace a call is.
pub(crate) fn add_trace(headers: &mut HeaderMap, place: &TraceParent) {
    let state = place.state.as_deref().map(HeaderValue::from_str);
    let parent = HeaderValue::from_str(&place.to_string());
    for (name, value) in [("traceparent", Some(parent)), ("tracestate", state)] {
        if let Some(Ok(value)) = value {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

async fn pieces(content: &Content, boundary: u64, blobs: &dyn Blobs) -> Result<Vec<Piece>, RequestError> {
    match content {
        Content::None => Ok(vec![]),
        Content::Json(json) => json_pieces(json, blobs).await,
        Content::Form(parts) => form_pieces(parts, &separator(boundary), blobs).await,
        Content::Raw { data, .. } => Ok(vec![raw_piece(data, blobs).await?]),
    }
}

fn separator(boundary: u64) -> String {
    format!("gatehouse-{boundary:016x}")
}

/// The text is valid: `runtime` checks what a plugin answers, so that here nothing parses it again.
async fn json_pieces(json: &Bytes, blobs: &dyn Blobs) -> Result<Vec<Piece>, RequestError> {
    let mut pieces = vec![];
    let mut done = 0;
    for splice in splices(json) {
        pieces.push(Piece::Bytes(json.slice(done..splice.range.start)));
        done = splice.range.end;
        let blob = open(blobs, &format!("blob:{}", splice.blob)).await?;
        match splice.form {
            SpliceForm::DataUri => {
                pieces.push(Piece::Bytes(format!("data:{};base64,", blob.mime).into()));
                pieces.push(Piece::Base64(blob));
            }
            SpliceForm::Base64 => pieces.push(Piece::Base64(blob)),
            SpliceForm::Text => pieces.push(Piece::Bytes(text(&splice.blob, blob).await?)),
        }
    }
    pieces.push(Piece::Bytes(json.slice(done..)));
    Ok(pieces)
}

/// A blob's text as it stands between the quotes of a JSON string. Held whole, since its length is known only then.
async fn text(id: &BlobId, blob: OpenBlob) -> Result<Bytes, RequestError> {
    if blob.length > MAX_TEXT {
        return Err(RequestError::Text(id.to_string()));
    }
    let pieces: Vec<Bytes> = blob.body.try_collect().await.map_err(RequestError::Broken)?;
    let bytes = pieces.concat();
    let text = std::str::from_utf8(&bytes).map_err(|_| RequestError::Text(id.to_string()))?;
    let quoted = Bytes::from(serde_json::Value::from(text).to_string());
    Ok(quoted.slice(1..quoted.len() - 1))
}

async fn form_pieces(parts: &[Part], boundary: &str, blobs: &dyn Blobs) -> Result<Vec<Piece>, RequestError> {
    let mut pieces = vec![];
    for part in parts {
        pieces.push(Piece::Bytes(part_head(part, boundary)?.into()));
        pieces.push(raw_piece(&part.data, blobs).await?);
        pieces.push(Piece::Bytes(Bytes::from_static(b"\r\n")));
    }
    pieces.push(Piece::Bytes(format!("--{boundary}--\r\n").into()));
    Ok(pieces)
}

async fn raw_piece(data: &Body, blobs: &dyn Blobs) -> Result<Piece, RequestError> {
    Ok(match data {
        Body::Inline(bytes) => Piece::Bytes(bytes.clone()),
        Body::Blob(name) => Piece::Raw(open(blobs, name).await?),
    })
}

/// The type of a body that says by itself which it has; one content type is enough.
fn set_type(headers: &mut HeaderMap, mime: &str, body: &str) -> Result<(), RequestError> {
    if headers.contains_key(CONTENT_TYPE) {
        return Err(RequestError::Header(format!("header content-type of {body}")));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(mime).map_err(|_| RequestError::Form)?);
    Ok(())
}

fn part_head(part: &Part, boundary: &str) -> Result<String, RequestError> {
    if part.name.is_empty() {
        return Err(RequestError::Form);
    }
    let mut head =
        format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"", escaped(&part.name));
    if let Some(filename) = &part.filename {
        head += &format!("; filename=\"{}\"", escaped(filename));
    }
    if let Some(mime) = &part.mime {
        HeaderValue::from_str(mime).map_err(|_| RequestError::Form)?;
        head += &format!("\r\ncontent-type: {mime}");
    }
    head += "\r\n\r\n";
    Ok(head)
}

/// Names in forms, as browsers escape them (WHATWG HTML, multipart/form-data encoding).
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

async fn open(blobs: &dyn Blobs, name: &str) -> Result<OpenBlob, RequestError> {
    let foreign = || RequestError::Blob(name.to_owned());
    let id = body::named(name).ok_or_else(foreign)?;
    blobs.open(id).await.map_err(RequestError::Broken)?.ok_or_else(foreign)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;

    use super::*;
    use crate::auth::credential::{Kind, Location};
    use crate::config::check;

    /// Without it a path could name a host or leave the base, or a call go elsewhere than its plugin says.
    #[test]
    fn a_path_is_read_as_if_written_behind_the_base() {
        let plain = "/chat / /a?b=c#d /?b /#d /./a /\u{e4}/%zz /a/../b /../.. /%2e%2e/x /..//b.example/x //a.example/x \
                     //b.example/x ///b.example /\\b.example/x /\\a.example/x /@b.example /:80/x /https://b.example/x";
        let odd = ["/a b", "/x \u{1}", "/\t/a.example/x", "/\t/b.example/x", "/\n\\b.example", "/.\t./x"];
        let paths: Vec<_> = plain.split(' ').chain(odd).collect();
        for text in
            ["https://a.example", "http://a.example:8080/", "https://a.example/v1", "https://[::1]/v1//"]
        {
            let (base, behind) = (check::base(text).unwrap().0, text.trim_end_matches('/'));
            let folder = Url::parse(&format!("{behind}/")).unwrap().path().to_owned();
            for path in &paths {
                let whole = Url::parse(&format!("{behind}{path}")).ok();
                let allowed = whole.filter(|url| url.path().starts_with(&folder));
                assert_eq!(below(&base, path), allowed, "{base} {path:?}");
            }
            for refused in ["", "chat", ".b.example", "@b.example", ":80/x", "\\b.example"] {
                assert_eq!(below(&base, refused), None, "{base} {refused:?}");
            }
        }
    }

    #[test]
    fn a_plugin_sets_only_what_is_its_own() {
        let slot = Location::Header(HeaderName::from_static("x-custom-key"));
        let credential = Credential::new(Kind::Fixed(slot, Secret::new("k".to_owned())));
        let header = |name: &str, value: &str| Header { name: name.to_owned(), value: value.to_owned() };
        for (name, value, allowed) in [
            ("content-type", "application/json", true),
            ("Anthropic-Version", "2023-06-01", true),
            ("x-key", "k", false),
            ("Authorization", "Bearer k", false),
            ("x-custom-key", "k", false),
            ("HOST", "evil", false),
            ("Proxy-Authorization", "k", false),
            ("X-Forwarded-For", "1.1.1.1", false),
            ("transfer-encoding", "chunked", false),
            ("content-length", "3", false),
            ("a b", "x", false),
            ("x-a", "line\r\nx-b: y", false),
        ] {
            assert_eq!(headers(&[header(name, value)], &credential).is_ok(), allowed, "{name}");
        }
    }
}
