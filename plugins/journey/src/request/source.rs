//! One picture of a request: the forms in which it may come, the form the host takes, and what the host found.

use gatehouse_sdk::{Facts, Finding, InvalidParam, MediaKind};

/// The largest picture, in bytes.
pub(crate) const MAX_BYTES: u64 = 12 * 1024 * 1024;
/// No picture is shorter than this in base64.
const MIN_BASE64: usize = 32;

/// In the host's form: a scheme in lower case, base64 as a `data:` URI. A `blob:` must be one the host cut out of this
/// request; any other comes from the client and is refused, and so is a file the host already knows to be none.
pub(crate) fn checked(field: &str, source: &str, blobs: &[Facts]) -> Result<String, InvalidParam> {
    let refused = |problem: String| Err(InvalidParam::at(Some(field), problem));
    let expected = "expected an http(s) URL, a base64 `data:` URI or base64";
    let Some(form) = Form::of(source) else {
        return refused(format!("{expected}, got {}", shown(source)));
    };
    match form {
        Form::Url | Form::Data => Ok(in_lower_case_scheme(source)),
        Form::Base64 => Ok(format!("data:application/octet-stream;base64,{source}")),
        Form::Blob => match blobs.iter().find(|facts| facts.blob.as_deref() == Some(source)) {
            None => refused(format!("{expected}, got a blob of another request")),
            Some(facts) => match picture(facts) {
                Ok(()) => Ok(source.to_owned()),
                Err(problem) => refused(problem),
            },
        },
    }
}

/// Whether a file is a picture that the provider takes.
fn picture(facts: &Facts) -> Result<(), String> {
    if facts.kind != MediaKind::Image {
        return Err(format!("expected an image, got {}", facts.mime));
    }
    if facts.bytes > MAX_BYTES {
        return Err(format!("expected at most {MAX_BYTES} bytes (12 MiB), got {}", facts.bytes));
    }
    Ok(())
}

/// What the host found at a source: the blob or the source to send.
///
/// # Errors
/// A sentence for the client.
pub(crate) fn found<'a>(field: &str, finding: &'a Finding) -> Result<(&'a Facts, String), String> {
    let facts = finding.found.as_ref().map_err(|reason| format!("`{field}`: {reason}"))?;
    picture(facts).map_err(|problem| format!("`{field}`: {problem}"))?;
    Ok((facts, facts.blob.clone().unwrap_or_else(|| finding.source.clone())))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Url,
    Data,
    Blob,
    Base64,
}

impl Form {
    fn of(source: &str) -> Option<Self> {
        let starts_with =
            |prefix: &str| source.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
        if starts_with("https://") || starts_with("http://") {
            let host = source.split_once("//").map_or("", |(_, host)| host);
            let is_valid =
                !host.is_empty() && !host.starts_with('/') && !source.contains(char::is_whitespace);
            return is_valid.then_some(Self::Url);
        }
        if starts_with("data:") {
            let (head, data) = source.split_once(',')?;
            let encoded = head.to_ascii_lowercase().ends_with(";base64") && is_base64(data);
            return encoded.then_some(Self::Data);
        }
        if starts_with("blob:") {
            return Some(Self::Blob);
        }
        is_base64(source).then_some(Self::Base64)
    }
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len() >= MIN_BASE64
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
}

fn in_lower_case_scheme(source: &str) -> String {
    match source.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => source.to_owned(),
    }
}

fn shown(source: &str) -> String {
    gatehouse_sdk::params::came(Some(&serde_json::Value::String(source.to_owned())))
}
