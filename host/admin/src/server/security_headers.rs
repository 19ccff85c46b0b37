//! Headers that every answer of the listener carries, whatever it is: what a page may load, who may frame it, what it
//! tells others.

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Nothing but this origin's own files; no inline script and no inline style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// `same-origin` and not `no-referrer`: with the latter a form would be sent with `Origin: null`.
const FIXED: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Adds them. An answer that has a stricter policy of its own keeps it.
pub(super) fn add(headers: &mut HeaderMap) {
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in FIXED {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}
