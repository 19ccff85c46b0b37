//! Fields and files of a form that was sent as `multipart/form-data`, out of a body that is in memory as a whole: `multer` reads
//! it, here are the bounds. Never decides what a file is.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use multer::Multipart;

use crate::form::Form;

/// Parts of one form, at most.
const MAX_PARTS: usize = 2_000;

/// A file of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormFile {
    /// The name of its control.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// The boundary in a `Content-Type`; none for another type.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    multer::parse_boundary(content_type).ok().filter(|boundary| !boundary.is_empty())
}

/// The fields, and the files that were chosen: a control without one sends an empty part.
///
/// # Errors
/// What is wrong with the body.
pub(crate) async fn parse(body: Bytes, boundary: &str) -> Result<(Form, Vec<FormFile>), String> {
    let (mut form, mut files) = (Form::default(), Vec::new());
    let mut parts = Multipart::new(stream::iter([Ok::<_, Infallible>(body)]), boundary);
    for _ in 0..MAX_PARTS {
        let Some(part) = parts.next_field().await.map_err(|error| error.to_string())? else {
            return Ok((form, files));
        };
        let name = unescaped(part.name().ok_or("a part has no name")?);
        let is_file = part.file_name().is_some();
        let content = part.bytes().await.map_err(|error| error.to_string())?;
        match is_file {
            true if content.is_empty() => {}
            true => files.push(FormFile { name, bytes: content }),
            false => form.push(&name, String::from_utf8_lossy(&content).into_owned()),
        }
    }
    Err(format!("it has more than {MAX_PARTS} parts"))
}

/// Browsers escape what would end a name, and nothing else (HTML, section 4.10.22.8).
fn unescaped(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "--B\r\nContent-Disposition: form-data; name=\"/image_urls/0\"\r\n\r\n\r\n\
        --B\r\nContent-Disposition: form-data; name=\"/image_urls/0|file\"; filename=\"a \u{e9}%22.png\"\r\n\
        Content-Type: image/png\r\n\r\n\x00\r\n--A\r\n\r\n--B\r\n\
        Content-Disposition: form-data; name=\"none|file\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
        --B\r\ncontent-disposition: form-data; name=\"say %22it%22\"\r\n\r\ntwo\r\nlines\r\n--B--\r\n";

    #[tokio::test]
    async fn fields_and_files_are_told_apart() {
        let (form, files) = parse(Bytes::from(BODY), "B").await.unwrap();
        assert!(form.has("/image_urls/0") && form.given("/image_urls/0").is_none());
        assert_eq!(form.given("say \"it\""), Some("two\r\nlines"));
        let bytes = Bytes::from_static(b"\x00\r\n--A\r\n");
        assert_eq!(files, [FormFile { name: "/image_urls/0|file".to_owned(), bytes }]);
    }

    #[tokio::test]
    async fn what_is_no_form_is_refused() {
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
            assert!(parse(Bytes::from(body), "B").await.is_err(), "{body:?}");
        }
        let many =
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(MAX_PARTS + 1) + "--B--";
        assert!(parse(Bytes::from(many), "B").await.is_err());
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

    #[tokio::test]
    async fn no_cut_of_a_form_makes_it_panic() {
        for end in 0..BODY.len() {
            let cut = Bytes::copy_from_slice(&BODY.as_bytes()[..end]);
            // The last line break may be missing; everything else is needed.
            assert_eq!(parse(cut, "B").await.is_ok(), end >= BODY.len() - 2, "{end}");
        }
    }
}
