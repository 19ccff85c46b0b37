//! Where a medium of a request comes from, as its client writes it: a link, an embedded file, base64, a file that the
//! host has cut out, or a name of another scheme.
//!
//! Only the form is read. Which forms a field takes is the family's to say; what a source leads to, and whether it
//! may be fetched, is found out by the host.

use crate::contract::media::Facts;

/// No medium is shorter than this in base64; a shorter text of its letters is a word.
pub const MIN_BASE64: usize = 32;

/// The form of a source.
///
/// ```
/// use gatehouse_sdk::source::Source;
///
/// assert!(matches!(Source::of("HTTPS://example.com/a.png"), Some(Source::Link(link)) if link.is_https));
/// assert!(matches!(Source::of("data:image/png;base64,iVBORw0K"), Some(Source::Data(data)) if data.mime == "image/png"));
/// assert_eq!(Source::of("asset://k7"), Some(Source::Other { scheme: "asset", rest: "//k7" }));
/// assert_eq!(Source::of("cat.png"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// An http(s) URL, its scheme in any case.
    Link(Link<'a>),
    /// A `data:` URI that says it is base64.
    Data(Data<'a>),
    /// `blob:<id>`: a file the host has cut out of a request. [`blob`] tells whether out of this one.
    Blob,
    /// Bare base64 of at least [`MIN_BASE64`] characters.
    Base64,
    /// Another scheme, as it is written: the host looks names up letter by letter.
    Other {
        /// What stands before the colon.
        scheme: &'a str,
        /// What stands after it: not empty, without white space and control characters.
        rest: &'a str,
    },
}

/// An http(s) URL with something in the place of a host, and without white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Not plain http.
    pub is_https: bool,
    /// What stands after `//`; it does not begin with a slash.
    pub rest: &'a str,
}

impl Link<'_> {
    /// Whether it has no control characters, which some readers of URLs escape and others refuse.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.rest.contains(char::is_control)
    }
}

/// A `data:` URI whose head ends with `;base64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// The media type as it is written, without parameters; may be empty.
    pub mime: &'a str,
    /// What stands after the comma; see [`Data::is_encoded`].
    pub payload: &'a str,
}

impl Data<'_> {
    /// Whether it says that it is an image.
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.mime.get(.."image/".len()).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"))
    }

    /// Whether the payload is base64.
    #[must_use]
    pub fn is_encoded(&self) -> bool {
        is_base64(self.payload)
    }
}

impl<'a> Source<'a> {
    /// The form of `text`; `None` when it has none of them.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return (text.len() >= MIN_BASE64 && is_base64(text)).then_some(Self::Base64);
        };
        let is = |name: &str| scheme.eq_ignore_ascii_case(name);
        if is("https") || is("http") {
            let rest = rest.strip_prefix("//")?;
            let has_host = !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace);
            return has_host.then_some(Self::Link(Link { is_https: is("https"), rest }));
        }
        if is("data") {
            let (head, payload) = rest.split_once(',')?;
            let (mime, parameters) = head.split_once(';')?;
            let last = parameters.rsplit_once(';').map_or(parameters, |(_, last)| last);
            return last.eq_ignore_ascii_case("base64").then_some(Self::Data(Data { mime, payload }));
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

/// Whether a text is base64 in either alphabet, with or without padding.
#[must_use]
pub fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    !digits.is_empty()
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
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
