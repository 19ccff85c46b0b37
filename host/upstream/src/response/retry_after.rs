//! `Retry-After` (RFC 9110, section 10.2.3): the one parser of the host.

use std::time::Duration;

use gatehouse_model::{Reply, UnixMs};

/// How long a provider asks to wait: its number of seconds, a fraction rounded up, or the span until its date.
/// `None` when the reply names no wait or none that can be read. Not bounded: every caller has its own bounds.
#[must_use]
pub fn retry_after(reply: &Reply, now: UnixMs) -> Option<Duration> {
    parse(reply.header("retry-after")?, now)
}

/// The same of the header's text.
pub(crate) fn parse(text: &str, now: UnixMs) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds.ceil()).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let at = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(UnixMs(0).plus(at).since(now))
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{Body, Header};

    use super::*;

    fn reply(headers: Vec<Header>) -> Reply {
        let body = Body::Inline(bytes::Bytes::new());
        Reply { status: 429, headers, body, affinity: String::new() }
    }

    #[test]
    fn seconds_and_dates_are_read() {
        for (text, expected) in [
            ("3", Some(3_000)),
            (" 3 ", Some(3_000)),
            ("0", Some(0)),
            ("0.2", Some(1_000)),
            ("1e3", Some(1_000_000)),
            ("Thu, 01 Jan 1970 00:01:00 GMT", Some(50_000)),
            ("Thu, 01 Jan 1970 00:00:01 GMT", Some(0)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1e300", None),
            ("soon", None),
            ("", None),
        ] {
            let headers = vec![Header { name: "retry-after".into(), value: text.into() }];
            let reply = reply(headers);
            let found = retry_after(&reply, UnixMs(10_000));
            assert_eq!(found, expected.map(Duration::from_millis), "{text:?}");
        }
        assert_eq!(retry_after(&reply(vec![]), UnixMs(0)), None);
    }
}
