//! Forms that a browser sends: their fields, their files, and that each counts once.
//!
//! A form is sent as a query is, or as `multipart/form-data`, out of a body that is in memory as a whole: `multer` reads it, here are the
//! bounds. Never decides what a field means or what a file is.
//!
//! Forms that are sent once: what a button makes is not made again by a second click, or by a browser that loads the answer
//! anew. Each page has a number; a form with it is taken once on each address. One that was answered with an error may be sent
//! again. It asks the API under the same idempotency key, so that what was done is not done again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use gatehouse_model::{Digest, RequestId};
use http::StatusCode;
use maud::{Markup, html};
use multer::Multipart;
use url::form_urlencoded;

use crate::error::PageError;

/// Fields in the order they came; a name may stand more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads `application/x-www-form-urlencoded`.
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Every field as it was typed.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The first field of that name, without the white space around it; empty when absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value.trim())
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// Gives the first field of that name another value, or adds it.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(field, _)| field == name) {
            Some((_, present)) => *present = value,
            None => self.push(name, value),
        }
    }

    /// Whether there is a field of that name, be it empty.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// Whether there is a field inside of the one of that pointer, be it empty.
    pub(crate) fn has_below(&self, pointer: &str) -> bool {
        self.0.iter().any(|(field, _)| field.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The first field of that name as it was typed, unless that is nothing but white space.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())?;
        (!value.trim().is_empty()).then_some(value)
    }

    /// Whether any field whose name begins so has a value.
    pub(crate) fn begins_with(&self, start: &str) -> bool {
        self.0.iter().any(|(field, value)| field.starts_with(start) && !value.trim().is_empty())
    }

    /// Every field of that name.
    pub(crate) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.trim())
    }

    /// Whether a box of that name is ticked.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        !self.text(name).is_empty()
    }
}

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

/// The field with the number of its page.
pub(crate) const FIELD: &str = "once";
/// Forms that are remembered; older ones are taken again, and the API knows them by their keys.
const MAX_SENT: usize = 1000;

/// Of a form that was taken before.
const SENT_BEFORE: &str =
    "This form was sent before, and what it asks for was done once. Open its page again to do more.";
/// Of a form that was done with other fields.
pub(crate) const SENT_WITH_OTHERS: &str =
    "This form was sent before with other fields, and only that was done. Open its page again to do more.";

/// The session, the number of the page, and where its form was sent to.
type Sent = (u64, u64, String);

/// Which forms were sent. In memory, as sessions are.
pub(crate) struct Once {
    /// Tells its keys from those of other processes, which count sessions and pages as this one does.
    process: RequestId,
    last: AtomicU64,
    sent: Mutex<VecDeque<Sent>>,
}

impl Once {
    /// Without any form. Nothing else has the id `process`.
    pub(crate) fn new(process: RequestId) -> Self {
        Self { process, last: AtomicU64::default(), sent: Mutex::default() }
    }

    /// A number for a page.
    pub(crate) fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes a form; one without a number is not counted.
    ///
    /// # Errors
    /// 409 for one that was sent before.
    pub(crate) fn take(&self, session: u64, number: &str, path: &str) -> Result<Option<Sent>, PageError> {
        let Ok(number) = number.parse() else { return Ok(None) };
        let form = (session, number, path.to_owned());
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.contains(&form) {
            return Err(PageError::new(StatusCode::CONFLICT, SENT_BEFORE));
        }
        sent.push_back(form.clone());
        if sent.len() > MAX_SENT {
            sent.pop_front();
        }
        Ok(Some(form))
    }

    /// The idempotency key of what a form asks for, the same each time that it is sent.
    pub(crate) fn key_of(&self, form: &Sent) -> String {
        let process = self.process.to_string();
        let (session, number, path) = form;
        let numbers = [session.to_be_bytes(), number.to_be_bytes()];
        Digest::of_fields(&[process.as_bytes(), &numbers[0], &numbers[1], path.as_bytes()]).to_string()
    }

    /// Nothing came of it, or that is not known, so it may be sent again.
    pub(crate) fn forget(&self, form: &Sent) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).retain(|sent| sent != form);
    }
}

/// The field of a form on that page.
pub(crate) fn field(number: u64) -> Markup {
    html! { input type="hidden" name=(FIELD) value=(number); }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let form = Form::parse(b"name=+a%20b+&ip=10.0.0.0%2F8%2C+%3A%3A1%0A1.2.3.4&ip=5.6.7.8&on=1");
        assert_eq!(form.text("name"), "a b");
        assert_eq!(form.all("ip").count(), 2);
        assert!(form.is_on("on") && !form.is_on("off"));
    }

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

    /// Without it a form that is sent again has a key more made, or another form's is taken for a repetition.
    #[test]
    fn a_form_has_one_key_and_shares_it_with_no_other() {
        let form = |session, number, path: &str| (session, number, path.to_owned());
        let [once, other_process] = [1, 2].map(|bits| Once::new(RequestId::from_bits(bits)));
        let first = once.key_of(&form(1, 2, "/keys"));
        assert_eq!(once.key_of(&form(1, 2, "/keys")), first);
        for other in [form(2, 1, "/keys"), form(1, 3, "/keys"), form(1, 2, "/webhooks")] {
            assert_ne!(once.key_of(&other), first, "{other:?}");
        }
        assert_ne!(other_process.key_of(&form(1, 2, "/keys")), first);
    }

    /// Without it a key more is made each time somebody loads the page again that shows a new one.
    #[test]
    fn a_form_is_taken_once_unless_nothing_came_of_it() {
        let once = Once::new(RequestId::from_bits(1));
        let (page, other) = (once.number().to_string(), once.number().to_string());
        let taken = once.take(1, &page, "/keys").unwrap().unwrap();
        assert_eq!(once.take(1, &page, "/keys").unwrap_err().status, StatusCode::CONFLICT);
        for (session, number, path) in [(1, &other, "/keys"), (2, &page, "/keys"), (1, &page, "/webhooks")] {
            assert!(once.take(session, number, path).unwrap().is_some());
        }
        once.forget(&taken);
        assert!(once.take(1, &page, "/keys").unwrap().is_some());
        for _ in 0..2 {
            assert!(once.take(1, "", "/keys").unwrap().is_none());
        }
    }
}
