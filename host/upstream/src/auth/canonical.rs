//! The canonical form of a request that an HMAC signature covers. Pure: method, target, headers, digest and time come
//! in, texts come out.
//!
//! One form in two dialects ([`VOLCENGINE`], [`AWS4`]), which differ in the constants of [`Dialect`] only. Lines are
//! separated by `\n`, and the last one has none.
//!
//! ```text
//! canonical request = METHOD              POST
//!                     PATH                the path percent-encoded (AWS4: once more over what is sent); "/" for none
//!                     QUERY               NAME=VALUE&...: every name and value decoded (+ is a space), percent-encoded
//!                                         and sorted by name, then by value; empty for none
//!                     HEADER:VALUE        one line a signed header, sorted by name; the name in lower case, the value
//!                     ...                 without outer spaces and with single inner ones; several values joined by ","
//!                                         an empty line
//!                     SIGNED              the names of these headers, joined by ";"
//!                     DIGEST              SHA-256 of the body as it leaves, in lower-case hex
//!
//! scope             = YYYYMMDD/REGION/SERVICE/TERMINATOR
//!
//! string to sign    = ALGORITHM
//!                     YYYYMMDDThhmmssZ    the time in UTC, also sent in the date header
//!                     scope
//!                     SHA-256 of the canonical request, in lower-case hex
//!
//! signing key       = HMAC(HMAC(HMAC(HMAC(PREFIX + SECRET, YYYYMMDD), REGION), SERVICE), TERMINATOR)
//! signature         = HMAC(signing key, string to sign), in lower-case hex
//!
//! Authorization: ALGORITHM Credential=KEY_ID/scope, SignedHeaders=SIGNED, Signature=signature
//! ```
//!
//! HMAC is HMAC-SHA-256, with the key first. Percent-encoded means: every byte but the unreserved characters of RFC 3986
//! (letters, digits, `-`, `.`, `_`, `~`) as `%` and two upper-case hex digits; in a path `/` stays as it is.

use std::fmt::Write as _;

use gatehouse_model::UnixMs;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};

use crate::auth::scheme::HmacForm;

/// What is not unreserved in RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same within a path.
const ENCODED_PATH: &AsciiSet = &ENCODED.remove(b'/');

/// The constants of one provider's form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) algorithm: &'static str,
    key_prefix: &'static str,
    terminator: &'static str,
    /// The header that carries the time.
    pub(crate) date_header: &'static str,
    /// The header that carries the body's digest.
    pub(crate) digest_header: &'static str,
    /// The path is encoded once more over the encoding it is sent in.
    encodes_path_again: bool,
}

/// Volcengine and BytePlus.
pub(crate) const VOLCENGINE: Dialect = Dialect {
    algorithm: "HMAC-SHA256",
    key_prefix: "",
    terminator: "request",
    date_header: "x-date",
    digest_header: "x-content-sha256",
    encodes_path_again: false,
};

/// AWS Signature Version 4.
pub(crate) const AWS4: Dialect = Dialect {
    algorithm: "AWS4-HMAC-SHA256",
    key_prefix: "AWS4",
    terminator: "aws4_request",
    date_header: "x-amz-date",
    digest_header: "x-amz-content-sha256",
    encodes_path_again: true,
};

impl Dialect {
    pub(crate) const fn of(form: HmacForm) -> &'static Self {
        match form {
            HmacForm::Volcengine => &VOLCENGINE,
            HmacForm::Aws4 => &AWS4,
        }
    }

    /// `date` is `YYYYMMDD`.
    pub(crate) fn scope(&self, date: &str, region: &str, service: &str) -> String {
        format!("{date}/{region}/{service}/{}", self.terminator)
    }

    pub(crate) fn string_to_sign(&self, time: &str, scope: &str, canonical: &str) -> String {
        let hash = hex(digest(&SHA256, canonical.as_bytes()).as_ref());
        format!("{}\n{time}\n{scope}\n{hash}", self.algorithm)
    }

    /// The signature of `text` in hex. `date` is `YYYYMMDD`.
    pub(crate) fn signature(
        &self,
        secret: &str,
        date: &str,
        region: &str,
        service: &str,
        text: &str,
    ) -> String {
        let first = format!("{}{secret}", self.key_prefix).into_bytes();
        let steps = [date, region, service, self.terminator, text];
        hex(&steps.iter().fold(first, |key, step| {
            hmac::sign(&hmac::Key::new(HMAC_SHA256, &key), step.as_bytes()).as_ref().to_vec()
        }))
    }

    /// The canonical request. `headers` are those signed: lower-case names in order, with normalised values.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        query: Option<&str>,
        headers: &[(String, String)],
        digest: &str,
    ) -> String {
        let mut text = format!("{method}\n{}\n{}\n", self.path(path), canonical_query(query));
        for (name, value) in headers {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{name}:{value}");
        }
        let _ = write!(text, "\n{}\n{digest}", signed(headers));
        text
    }

    fn path(&self, sent: &str) -> String {
        let path = if sent.is_empty() { "/" } else { sent };
        if self.encodes_path_again {
            return percent_encode(path.as_bytes(), ENCODED_PATH).to_string();
        }
        // By segments: an encoded slash inside one stays encoded.
        let segment = |text: &str| encoded(percent_decode(text.as_bytes()).collect());
        path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }
}

/// The names of the signed headers.
pub(crate) fn signed(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";")
}

/// A header's value as it is signed: outer spaces gone, inner ones single.
pub(crate) fn normalised(value: &str) -> String {
    value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// `YYYYMMDDThhmmssZ`.
pub(crate) fn time(now: UnixMs) -> String {
    let text = now.to_string();
    text.chars().take("2026-01-02T03:04:05".len()).filter(|c| !matches!(c, '-' | ':')).chain(['Z']).collect()
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn canonical_query(query: Option<&str>) -> String {
    let part = |text: &str| {
        let spaced: Vec<u8> = text.bytes().map(|byte| if byte == b'+' { b' ' } else { byte }).collect();
        encoded(percent_decode(&spaced).collect())
    };
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (part(name), part(value))
        })
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn encoded(bytes: Vec<u8>) -> String {
    percent_encode(&bytes, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The worked example of the AWS General Reference, "Signature Version 4 signing process".
    #[test]
    fn the_published_example_is_reproduced() {
        let signed_headers = headers(&[
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("host", "iam.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
        ]);
        let empty = hex(digest(&SHA256, b"").as_ref());
        assert_eq!(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let request =
            AWS4.request("GET", "/", Some("Version=2010-05-08&Action=ListUsers"), &signed_headers, &empty);
        let expected = "GET\n/\nAction=ListUsers&Version=2010-05-08\n\
            content-type:application/x-www-form-urlencoded; charset=utf-8\nhost:iam.amazonaws.com\n\
            x-amz-date:20150830T123600Z\n\ncontent-type;host;x-amz-date\n";
        assert_eq!(request, format!("{expected}{empty}"));
        let scope = AWS4.scope("20150830", "us-east-1", "iam");
        let text = AWS4.string_to_sign("20150830T123600Z", &scope, &request);
        assert_eq!(
            text,
            "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/iam/aws4_request\n\
             f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"
        );
        let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        assert_eq!(
            AWS4.signature(secret, "20150830", "us-east-1", "iam", &text),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
    }

    #[test]
    fn queries_are_sorted_and_encoded_once() {
        for (sent, expected) in [
            (None, ""),
            (Some(""), ""),
            (Some("b=2&a=1"), "a=1&b=2"),
            (Some("a=2&a=1&A=3"), "A=3&a=1&a=2"),
            (Some("a&b="), "a=&b="),
            (Some("n=x+y&m=x%20y"), "m=x%20y&n=x%20y"),
            (Some("k=%7e~%2a*&u=%C3%BC"), "k=~~%2A%2A&u=%C3%BC"),
            (Some("a=b=c"), "a=b%3Dc"),
            (Some("a=%zz"), "a=%25zz"),
            (Some("a=%ff"), "a=%FF"),
            (Some("&&a=1&"), "a=1"),
            // By their encoded form, name before value.
            (Some("ab=1&a%2F=2&a=3"), "a=3&a%2F=2&ab=1"),
        ] {
            assert_eq!(canonical_query(sent), expected, "{sent:?}");
        }
    }

    #[test]
    fn paths_are_encoded_as_the_dialect_wants() {
        for (sent, volcengine, aws) in [
            ("", "/", "/"),
            ("/", "/", "/"),
            ("/a/b", "/a/b", "/a/b"),
            ("/model/a:0/invoke", "/model/a%3A0/invoke", "/model/a%3A0/invoke"),
            ("/model/a%3A0", "/model/a%3A0", "/model/a%253A0"),
            ("/a%2Fb", "/a%2Fb", "/a%252Fb"),
            ("/a%20b/", "/a%20b/", "/a%2520b/"),
            ("/a+b", "/a%2Bb", "/a%2Bb"),
        ] {
            assert_eq!(VOLCENGINE.path(sent), volcengine, "{sent}");
            assert_eq!(AWS4.path(sent), aws, "{sent}");
        }
    }

    #[test]
    fn values_and_times_have_one_form() {
        assert_eq!(normalised("  a \t b  c "), "a b c");
        assert_eq!(time(UnixMs(1_440_938_160_999)), "20150830T123600Z");
        assert_eq!(time(UnixMs(0)), "19700101T000000Z");
    }
}
