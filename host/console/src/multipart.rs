//! Fields and files of a form that was sent as `multipart/form-data` (RFC 7578), out of a body that is in memory as a whole.
//!
//! Reads what browsers send: a name for each part, a file name for files. Never decides what a file is.

use bytes::Bytes;
use memchr::memmem;

use crate::form::Form;

/// Parts of one form, at most.
const MAX_PARTS: usize = 2_000;
/// Bytes of a part's head, at most.
const MAX_HEAD: usize = 4_096;

/// A file of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormFile {
    /// The name of its control.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// The boundary in a `Content-Type`; none for another type.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let mut parts = content_type.split(';');
    let is_multipart = parts.next()?.trim().eq_ignore_ascii_case("multipart/form-data");
    let (_, value) = parts
        .filter_map(|part| part.trim().split_once('='))
        .find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let value = value.trim().trim_matches('"');
    // RFC 2046, section 5.1.1.
    (is_multipart && (1..=70).contains(&value.len())).then(|| value.to_owned())
}

/// The fields, and the files that were chosen: a control without one sends an empty part.
///
/// # Errors
/// What is wrong with the body.
pub(crate) fn parse(body: &Bytes, boundary: &str) -> Result<(Form, Vec<FormFile>), &'static str> {
    let (mut form, mut files) = (Form::default(), Vec::new());
    let delimiter = format!("\r\n--{boundary}");
    // The first delimiter has no line before it.
    let mut at = match body.strip_prefix(&delimiter.as_bytes()[2..]) {
        Some(_) => delimiter.len() - 2,
        None => return Err("it does not begin with its boundary"),
    };
    for _ in 0..MAX_PARTS {
        let rest = &body[at..];
        if rest.starts_with(b"--") {
            return Ok((form, files));
        }
        let rest = rest.strip_prefix(b"\r\n").ok_or("a boundary has something behind it")?;
        at += 2;
        let head =
            memmem::find(&rest[..rest.len().min(MAX_HEAD)], b"\r\n\r\n").ok_or("a part has no head")?;
        let from = at + head + 4;
        let length = memmem::find(&body[from..], delimiter.as_bytes()).ok_or("a part has no end")?;
        let (name, is_file) = named(&rest[..head]).ok_or("a part has no name")?;
        let content = body.slice(from..from + length);
        match is_file {
            true if content.is_empty() => {}
            true => files.push(FormFile { name, bytes: content }),
            false => form.push(&name, String::from_utf8_lossy(&content).into_owned()),
        }
        at = from + length + delimiter.len();
    }
    Err("it has too many parts")
}

/// The name in the head of a part, and whether it is a file.
fn named(head: &[u8]) -> Option<(String, bool)> {
    let head = std::str::from_utf8(head).ok()?;
    let line = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then(|| value.trim())
    })?;
    let value = line.strip_prefix("form-data")?;
    let parameter = |wanted: &str| {
        let start = value.find(&format!("; {wanted}=\""))? + wanted.len() + 4;
        let text = &value[start..];
        Some(&text[..text.find('"')?])
    };
    // Browsers escape what would end the name, and nothing else (HTML, section 4.10.22.8).
    let name = parameter("name")?.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
    Some((name, parameter("filename").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "--B\r\nContent-Disposition: form-data; name=\"/image_urls/0\"\r\n\r\n\r\n\
        --B\r\nContent-Disposition: form-data; name=\"/image_urls/0|file\"; filename=\"a \u{e9}%22.png\"\r\n\
        Content-Type: image/png\r\n\r\n\x00\r\n--A\r\n\r\n--B\r\n\
        Content-Disposition: form-data; name=\"none|file\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
        --B\r\ncontent-disposition: form-data; name=\"say %22it%22\"\r\n\r\ntwo\r\nlines\r\n--B--\r\n";

    #[test]
    fn fields_and_files_are_told_apart() {
        let (form, files) = parse(&Bytes::from(BODY), "B").unwrap();
        assert!(form.has("/image_urls/0") && form.given("/image_urls/0").is_none());
        assert_eq!(form.given("say \"it\""), Some("two\r\nlines"));
        let bytes = Bytes::from_static(b"\x00\r\n--A\r\n");
        assert_eq!(files, [FormFile { name: "/image_urls/0|file".to_owned(), bytes }]);
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for body in [
            "",
            "--",
            "--C--",
            "--B",
            "--Bx",
            "--B\r\n",
            "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--",
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--C--",
            "--B\r\nContent-Type: text/plain\r\n\r\nx\r\n--B--",
        ] {
            assert!(parse(&Bytes::from(body), "B").is_err(), "{body:?}");
        }
        let many =
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(MAX_PARTS + 1) + "--B--";
        assert!(parse(&Bytes::from(many), "B").is_err());
    }

    #[test]
    fn a_boundary_is_read() {
        for (text, expected) in [
            ("multipart/form-data; boundary=----WebKitFormBoundaryx", Some("----WebKitFormBoundaryx")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/mixed; boundary=x", None),
            ("application/x-www-form-urlencoded", None),
        ] {
            assert_eq!(boundary(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn no_cut_of_a_form_makes_it_panic() {
        for end in 0..BODY.len() {
            let cut = Bytes::copy_from_slice(&BODY.as_bytes()[..end]);
            // The last line break may be missing; everything else is needed.
            assert_eq!(parse(&cut, "B").is_ok(), end >= BODY.len() - 2, "{end}");
        }
    }
}
