//! The limits of an answer, and the names that only the host may use: constants, and functions of their arguments.

use std::time::Duration;

/// The longest wait of a task.
pub const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest time limit of a call.
pub const MAX_CALL: Duration = Duration::from_secs(15 * 60);
/// The most headers, form parts, probes, products or claims of one answer.
pub const MAX_ITEMS: usize = 64;
/// The most lines of a charge.
pub const MAX_LINES: usize = 16;
/// The longest claimed name, and the longest affinity, in bytes.
pub const NAME_BYTES: usize = 256;
/// The largest state of a task, KiB, where the operator sets no other limit.
pub const STATE_KIB: u32 = 64;

/// The most types of answers that one call at once passes.
pub const MAX_PASSES: usize = 16;
/// The longest type of an answer, in characters.
pub const MIME_BYTES: usize = 128;
/// The most seconds for which a client may keep an answer.
pub const MAX_FRESH_S: u32 = 86_400;

/// Headers that no plugin may set: they carry credentials, the destination, the framing, or what only the host may say of
/// itself.
const HOST_HEADERS: [&str; 20] = [
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-api-key",
    "x-goog-api-key",
    "x-key",
    "x-real-ip",
];
/// How other names begin that are the host's too.
const HOST_HEADER_LEADS: [&str; 3] = ["proxy-", "sec-", "x-forwarded-"];

/// Whether a header of this name, in any case, is set by the host alone.
///
/// ```
/// use gatehouse_contract::is_host_header;
///
/// assert!(is_host_header("Authorization") && is_host_header("X-Forwarded-For"));
/// assert!(!is_host_header("content-type"));
/// ```
#[must_use]
pub fn is_host_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HOST_HEADERS.contains(&name.as_str()) || HOST_HEADER_LEADS.iter().any(|lead| name.starts_with(lead))
}

/// Whether a task may claim `name`: 1 to [`NAME_BYTES`] visible ASCII characters.
#[must_use]
pub fn is_claimable(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether `text` can be the source of a medium: an http(s) URL, a `data:` URI or a blob.
#[must_use]
pub fn is_source(text: &str) -> bool {
    ["https://", "http://", "data:", "blob:"].iter().any(|scheme| text.starts_with(scheme))
}

/// Whether the price key `key` is a more specific form of `least`, the one that every price list has.
#[must_use]
pub fn extends_price_key(key: &str, least: &str) -> bool {
    key.strip_prefix(least).is_some_and(|rest| rest.starts_with(['-', '@']))
}

/// Whether `mime` is a type such as "audio/mpeg", or a pattern of types, which has `*` after its slash: one line of at most
/// [`MIME_BYTES`].
#[must_use]
pub fn is_mime(mime: &str) -> bool {
    let plain = mime.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let has_parts = mime.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
    plain && has_parts && mime.len() <= MIME_BYTES
}

/// Whether a content type is one of those that an exchange passes: "audio/mpeg", "audio/*".
#[must_use]
pub fn passes(patterns: &[String], mime: &str) -> bool {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    patterns.iter().any(|pattern| match pattern.strip_suffix("/*") {
        Some(kind) => mime.split_once('/').is_some_and(|(own, _)| own.eq_ignore_ascii_case(kind)),
        None => mime.eq_ignore_ascii_case(pattern),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it an error page would come to a client as the sound that it waits for.
    #[test]
    fn an_answer_passes_by_its_type() {
        for (mime, expected) in [
            ("audio/mpeg", true),
            ("Audio/MPEG; rate=1", true),
            ("audio/wav", true),
            ("application/octet-stream", true),
            ("application/json", false),
            ("text/audio", false),
            ("audio", false),
            ("", false),
        ] {
            let patterns = ["audio/*".to_owned(), "application/octet-stream".to_owned()];
            assert_eq!(passes(&patterns, mime), expected, "{mime}");
        }
        assert!(!passes(&[], "audio/mpeg"));
    }

    /// Without it a plugin could write headers of its own into an answer.
    #[test]
    fn a_type_is_one_line_with_two_parts() {
        for (mime, fits) in [
            ("audio/mpeg", true),
            ("text/plain; charset=utf-8", true),
            ("audio/*", true),
            ("audio", false),
            ("/mpeg", false),
            ("audio/", false),
            ("a/b\r\nset-cookie: c", false),
            ("", false),
        ] {
            assert_eq!(is_mime(mime), fits, "{mime:?}");
        }
        assert!(!is_mime(&format!("a/{}", "b".repeat(MIME_BYTES))));
    }
}
