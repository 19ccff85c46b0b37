//! Checks of a request's head that hyper leaves to its user (RFC 9112 sections 3.2 and 6; RFC 9113 section
//! 8.3.1). Pure; never looks at a route or a body. Its tests are the rows of `tests/http`.

use gatehouse_net::ConnectionFlags;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method, Version, header};

use crate::config::{Limits, count, kib};
use crate::errors::{Kind, Refusal};

/// Checks the head; returns its authority (host and port).
pub(crate) fn check(parts: &Parts, flags: &ConnectionFlags, limits: &Limits) -> Result<Authority, Refusal> {
    check_size(parts, limits)?;
    if parts.headers.contains_key(header::TRANSFER_ENCODING) && flags.is_ambiguous() {
        return Err(Refusal::new(
            Kind::Invalid,
            "Content-Length and Transfer-Encoding in one request: send one of them",
        ));
    }
    check_encoding(&parts.headers)?;
    check_once(&parts.headers)?;
    if matches!(parts.method, Method::CONNECT | Method::TRACE) {
        let message = format!("method {} is not offered here", parts.method);
        return Err(
            Refusal::new(Kind::WrongMethod, message).with_header(header::ALLOW, "GET, HEAD, OPTIONS, POST")
        );
    }
    authority(parts)
}

/// hyper looks at the last coding alone and passes the body on as the other codings left it; a proxy in front
/// may read such a list in another way.
fn check_encoding(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let plain = codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if plain && codings.next().is_none() {
        return Ok(());
    }
    Err(Refusal::new(Kind::Invalid, "Transfer-Encoding: expected chunked, once and alone"))
}

/// What tells the sender of a request, and the type of its body. Of two lines a proxy in front may check one, and the gateway
/// the other.
const ONCE: [&str; 3] = ["Authorization", "x-api-key", "Content-Type"];

fn check_once(headers: &HeaderMap) -> Result<(), Refusal> {
    match ONCE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        Some(name) => Err(Refusal::field(name, format!("{name}: given more than once, send it once"))),
        None => Ok(()),
    }
}

fn check_size(parts: &Parts, limits: &Limits) -> Result<(), Refusal> {
    let (lines, max_lines) = (parts.headers.len(), count(limits.headers));
    if lines > max_lines {
        let message = format!("{lines} header lines, at most {max_lines} are allowed");
        return Err(Refusal::new(Kind::HeadTooLarge, message));
    }
    let (bytes, max) = (parts.uri.path().len() + header_bytes(&parts.headers), kib(limits.head_kib));
    let bytes = bytes + parts.uri.query().map_or(0, str::len);
    if bytes > max {
        let message = format!("a request head of {bytes} bytes, at most {max} are allowed");
        return Err(Refusal::new(Kind::HeadTooLarge, message));
    }
    Ok(())
}

/// Bytes of the header lines in HTTP/1.
fn header_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum()
}

/// The one authority of the request: `Host`, or the target's own where it has one, which must not differ.
fn authority(parts: &Parts) -> Result<Authority, Refusal> {
    let wrong = |message| Err(Refusal::field("Host", message));
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let (host, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return wrong("Host: given more than once");
    }
    let host = match host.map(|value| value.to_str().ok().and_then(|text| text.parse::<Authority>().ok())) {
        Some(None) => return wrong("Host: expected a host name or address, with or without a port"),
        Some(Some(host)) => Some(host),
        None if parts.version < Version::HTTP_2 => return wrong("Host: missing, every request needs one"),
        None => None,
    };
    let authority = match (host, parts.uri.authority()) {
        (Some(host), Some(target)) if !host.as_str().eq_ignore_ascii_case(target.as_str()) => {
            return wrong("Host: differs from the authority of the request target");
        }
        (_, Some(target)) => target.clone(),
        (Some(host), None) => host,
        (None, None) => return wrong("Host: missing, every request needs one"),
    };
    if !is_host_and_port(&authority) {
        return wrong("Host: expected a host name or address, with or without a port");
    }
    Ok(authority)
}

/// Whether an authority is a host with or without a port, and nothing else.
pub(crate) fn is_host_and_port(authority: &Authority) -> bool {
    !authority.as_str().contains('@') && !authority.host().is_empty() && has_valid_port(authority)
}

/// `Authority` accepts any text after the colon; RFC 3986, 3.2.3 allows digits or nothing.
fn has_valid_port(authority: &Authority) -> bool {
    let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
    let Some(digits) = port.strip_prefix(':') else { return port.is_empty() };
    digits.is_empty() || (digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok())
}
