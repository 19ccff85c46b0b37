//! Where a medium of a request comes from, as its client writes it: a link, an embedded file, base64, a file that the
//! host has cut out, or a name of another scheme.
//!
//! Only the form is read. Which forms a field takes is the family's to say; what a source leads to, and whether it
//! may be fetched, is found out by the host.

use gatehouse_contract::{decode_base64, encode_base64, payload, type_of};

use crate::contract::media::{Facts, MediaKind};

/// No medium is shorter than this in base64; a shorter text of its letters is a word.
pub(crate) const MIN_BASE64: usize = 32;

/// The form of a source.
///
/// ```
/// use gatehouse_sdk::source::Source;
///
/// assert!(matches!(Source::of("HTTPS://example.com/a.png"), Some(Source::Link(link)) if link.is_https));
/// let Some(Source::Embedded(file)) = Source::of("data:image/jpeg;base64,iVBORw0K\nGgo") else { panic!() };
/// assert_eq!(file.uri(), "data:image/png;base64,iVBORw0KGgo=");
/// assert_eq!(Source::of("asset://k7"), Some(Source::Other { scheme: "asset", rest: "//k7" }));
/// assert_eq!(Source::of("cat.png"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// An http(s) URL, its scheme in any case.
    Link(Link<'a>),
    /// A file in the text itself: a `data:` URI whose base64 can be read, or base64 without one whose bytes tell a type.
    Embedded(Embedded),
    /// `blob:<id>`: a file the host has cut out of a request. [`blob`] tells whether out of this one.
    Blob,
    /// Another scheme, as it is written: the host looks names up letter by letter.
    Other {
        /// What stands before the colon.
        scheme: &'a str,
        /// What stands after it: not empty, without white space and control characters.
        rest: &'a str,
    },
}

/// An http(s) URL with something in the place of a host, and without white space, control characters and backslashes: some
/// readers of URLs escape or turn them, and others refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Not plain http.
    pub is_https: bool,
    /// What stands after `//`.
    pub rest: &'a str,
}

/// A file that stands in a text. The host cuts long ones out of a request and tells the type of their bytes; short ones
/// stay, and are read here in the same way: base64 of either alphabet, with line breaks, with the head of a `data:` URI or
/// without, under any label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// The type that its bytes tell: of media, drawings and PDF documents.
    pub mime: Option<&'static str>,
    /// Its bytes in the usual alphabet, without line breaks.
    pub base64: String,
    bytes: u64,
}

impl Embedded {
    /// The file that a text is, or has behind the head of a `data:` URI; `None` where it is no base64. That a text without
    /// such a head is meant as a file is the caller's to know.
    ///
    /// ```
    /// use gatehouse_sdk::source::Embedded;
    ///
    /// assert_eq!(Embedded::read("JVBERi0x").and_then(|file| file.mime), Some("application/pdf"));
    /// assert_eq!(Embedded::read("aGVsbG8").map(|file| file.base64), Some("aGVsbG8=".to_owned()));
    /// assert_eq!(Embedded::read("no, a text"), None);
    /// ```
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let bytes = decode_base64(payload(text.as_bytes()).base64).filter(|bytes| !bytes.is_empty())?;
        Some(Self::of(&bytes))
    }

    fn of(bytes: &[u8]) -> Self {
        Self { mime: type_of(bytes), base64: encode_base64(bytes), bytes: bytes.len() as u64 }
    }

    /// As the host writes a file: a `data:` URI under the type of its bytes.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("data:{};base64,{}", self.mime.unwrap_or(UNKNOWN), self.base64)
    }

    /// What is known of it without looking inside.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let mime = self.mime.unwrap_or(UNKNOWN);
        let kind = match mime.split('/').next() {
            Some("image") if mime != "image/svg+xml" => MediaKind::Image,
            Some("video") => MediaKind::Video,
            Some("audio") => MediaKind::Audio,
            _ => MediaKind::Other,
        };
        Facts::new(kind, mime, self.bytes)
    }
}

/// The type of what nothing is known about.
const UNKNOWN: &str = "application/octet-stream";

impl<'a> Source<'a> {
    /// The form of `text`; `None` when it has none of them.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        let embedded = || payload(text.as_bytes()).file().map(|bytes| Self::Embedded(Embedded::of(&bytes)));
        let Some((scheme, rest)) = text.split_once(':') else {
            return (text.len() >= MIN_BASE64).then(embedded)?;
        };
        let is = |name: &str| scheme.eq_ignore_ascii_case(name);
        if is("https") || is("http") {
            let rest = rest.strip_prefix("//")?;
            let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '\\';
            let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':', '@']);
            return (has_host && !rest.contains(is_odd))
                .then_some(Self::Link(Link { is_https: is("https"), rest }));
        }
        if scheme.trim_start().eq_ignore_ascii_case("data") {
            return embedded();
        }
        // The host writes it in lower case.
        if scheme == "blob" {
            return Some(Self::Blob);
        }
        let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let is_plain = !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        (is_scheme && is_plain && !rest.is_empty()).then_some(Self::Other { scheme, rest })
    }
}

/// A source in the host's form, its scheme in lower case.
///
/// ```
/// assert_eq!(gatehouse_sdk::source::normalised("HTTPS://Example.com/A"), "https://Example.com/A");
/// ```
#[must_use]
pub fn normalised(source: &str) -> String {
    match source.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => source.to_owned(),
    }
}

/// The facts of a `blob:<id>` of this request ([`crate::Submission::blobs`]). `None` is a name that the client has
/// made up, or that another request has.
#[must_use]
pub fn blob<'a>(source: &str, blobs: &'a [Facts]) -> Option<&'a Facts> {
    blobs.iter().find(|facts| facts.blob.as_deref() == Some(source))
}

/// A provider's link to a result: an http(s) URL, its scheme in any letters or left out before `//`, with its blanks escaped; or
/// the file itself, as a blob or a `data:` URI. `None` where the text is neither.
///
/// ```
/// use gatehouse_sdk::source::result;
///
/// assert_eq!(result("HTTPS://cdn.example.com/a b.png").as_deref(), Some("https://cdn.example.com/a%20b.png"));
/// assert_eq!(result("//cdn.example.com/a.png").as_deref(), Some("https://cdn.example.com/a.png"));
/// assert_eq!(result("/a.png"), None);
/// ```
#[must_use]
pub fn result(text: &str) -> Option<String> {
    let text = text.trim();
    let is_data = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    if is_data || text.starts_with("blob:") {
        return Some(normalised(text));
    }
    let scheme = if text.starts_with("//") { "https:" } else { "" };
    let url = normalised(&format!("{scheme}{}", text.replace(' ', "%20")));
    is_url(&url).then_some(url)
}

/// Whether a provider's text is an http(s) URL. Where it leads is checked by the host.
#[must_use]
pub fn is_url(text: &str) -> bool {
    let http = text.starts_with("https://") || text.starts_with("http://");
    http && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '\\')
}

#[cfg(test)]
mod tests;
