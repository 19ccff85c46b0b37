//! What the query of a request says: its parameters, and the cursor of a list. Pure.
//!
//! A route says which parameters it has; an unknown one is refused by its name.
//!
//! Cursors of lists: the position of the last row and the digest of the filter, as one opaque text. A cursor with another
//! filter, or of another list, is refused.
//!
//! Nothing secret is in it, and a made-up position only begins a page elsewhere, so it needs no signature. Lists go one way,
//! newest first; there is no cursor back.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::Digest;
use percent_encoding::percent_decode_str;

use crate::api::values::Moment;
use crate::error::{ApiError, Kind};

/// Rows of a page, where the request does not say.
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 100;

/// A parameter of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// For the documentation.
    pub(crate) meaning: &'static str,
    pub(crate) form: Form,
    /// Whether it may come several times, each another accepted value.
    pub(crate) repeats: bool,
    /// Whether it selects rows, so that a cursor is bound to it.
    pub(crate) filters: bool,
}

/// What a parameter's value looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Text,
    Flag,
    Moment,
    Limit,
    OneOf(&'static [&'static str]),
}

/// A filter of a list.
pub(crate) const fn filter(name: &'static str, form: Form, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, form, repeats: false, filters: true }
}

/// A filter of a list that may come several times: a row that fits one of the values is listed.
pub(crate) const fn filter_any(name: &'static str, form: Form, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, form, repeats: true, filters: true }
}

/// An option of a request that selects nothing.
pub(crate) const fn option(name: &'static str, form: Form, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, form, repeats: false, filters: false }
}

/// What every list has.
pub(crate) const PAGE: [Parameter; 2] = [
    option("limit", Form::Limit, "Rows of the page, 1 to 100; 50 without it."),
    option("cursor", Form::Text, "`next` of the page before, with the same filter."),
];

/// The parameters of a request, checked against those of its route.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pairs: Vec<(&'static str, String)>,
    /// Those of the pairs that filter, in the order of the route.
    filters: Vec<(&'static str, String)>,
}

impl Query {
    /// Reads the query string of a request of a route with these parameters.
    pub(crate) fn parse(text: Option<&str>, known: &[Parameter]) -> Result<Self, ApiError> {
        let mut pairs: Vec<(&'static str, String)> = Vec::new();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name, "a parameter's name")?, decoded(value, name)?);
            let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
                return Err(unknown(&name, known));
            };
            if !parameter.repeats && pairs.iter().any(|(before, _)| *before == parameter.name) {
                return Err(ApiError::field(name.as_str(), format!("{name}: given more than once")));
            }
            parameter.form.check(&value).map_err(|problem| {
                ApiError::field(name.as_str(), format!("{name}: {problem}, got {value:?}"))
            })?;
            pairs.push((parameter.name, value));
        }
        let mut filters: Vec<_> = Vec::new();
        for parameter in known.iter().filter(|parameter| parameter.filters) {
            let mut values: Vec<_> =
                pairs.iter().filter(|(name, _)| *name == parameter.name).cloned().collect();
            values.sort();
            filters.append(&mut values);
        }
        Ok(Self { pairs, filters })
    }

    /// The value of a parameter.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that may come several times.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.pairs.iter().filter(|(known, _)| *known == name).map(|(_, value)| value.clone()).collect()
    }

    /// Whether a flag is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.one(name) == Some("true")
    }

    /// A moment. Its form was checked.
    pub(crate) fn moment(&self, name: &str) -> Option<Moment> {
        self.one(name).and_then(|text| Moment::parse(text).ok())
    }

    /// Rows of the page.
    pub(crate) fn limit(&self) -> usize {
        self.one("limit").and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_LIMIT)
    }

    /// What the page's cursor is bound to.
    pub(crate) fn filters(&self) -> &[(&'static str, String)] {
        &self.filters
    }
}

impl Form {
    fn check(self, value: &str) -> Result<(), String> {
        match self {
            Self::Text if value.is_empty() || value.len() > 500 => {
                Err("expected 1 to 500 bytes of text".to_owned())
            }
            Self::Flag if !["true", "false"].contains(&value) => Err("expected true or false".to_owned()),
            Self::Moment => Moment::parse(value)
                .map(drop)
                .map_err(|_| "expected a moment such as 2026-11-21T09:30:00Z".to_owned()),
            Self::Limit if !value.parse().is_ok_and(|limit| (1..=MAX_LIMIT).contains(&limit)) => {
                Err(format!("expected a number from 1 to {MAX_LIMIT}"))
            }
            Self::OneOf(words) if !words.contains(&value) => {
                Err(format!("expected one of {}", words.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

fn unknown(name: &str, known: &[Parameter]) -> ApiError {
    let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
    let expected = match names.as_slice() {
        [] => "this request has none".to_owned(),
        names => format!("expected {}", names.join(", ")),
    };
    ApiError::field(name, format!("unknown parameter {name:?}: {expected}"))
}

/// Text of a query string or a path segment.
pub(crate) fn decoded(text: &str, what: &str) -> Result<String, ApiError> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| ApiError::field(what, format!("{what}: expected UTF-8, percent-encoded")))
}

const VERSION: u8 = 1;
const DIGEST_BYTES: usize = 12;

/// The cursor after the row at `position`.
pub(crate) fn write(list: &str, query: &Query, position: &str) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&filter_digest(list, query));
    bytes.extend_from_slice(position.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position in the request's cursor, if it has one.
pub(crate) fn read(list: &str, query: &Query) -> Result<Option<String>, ApiError> {
    let Some(text) = query.one("cursor") else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| malformed())?;
    let (digest, position) = match bytes.split_first() {
        Some((&VERSION, rest)) => rest.split_at_checked(DIGEST_BYTES).ok_or_else(malformed)?,
        _ => return Err(malformed()),
    };
    if digest != filter_digest(list, query) {
        return Err(wrong("cursor: it is of another list or of another filter; leave it out to begin anew"));
    }
    String::from_utf8(position.to_vec()).map(Some).map_err(|_| malformed())
}

/// The error of a cursor that no page gave out.
pub(crate) fn malformed() -> ApiError {
    wrong("cursor: expected `next` of the page before")
}

fn wrong(message: &str) -> ApiError {
    ApiError::new(Kind::InvalidCursor, message).with_param("cursor")
}

fn filter_digest(list: &str, query: &Query) -> [u8; DIGEST_BYTES] {
    let mut fields = vec![list.as_bytes()];
    for (name, value) in query.filters() {
        fields.extend([name.as_bytes(), value.as_bytes()]);
    }
    let digest = Digest::of_fields(&fields);
    let mut short = [0; DIGEST_BYTES];
    short.copy_from_slice(&digest.0[..DIGEST_BYTES]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Parameter; 6] = [
        filter("customer", Form::Text, ""),
        filter_any("status", Form::OneOf(&["live", "ended"]), ""),
        filter("created_after", Form::Moment, ""),
        option("all", Form::Flag, ""),
        PAGE[0],
        PAGE[1],
    ];

    fn problem(text: &str) -> String {
        Query::parse(Some(text), &KNOWN).unwrap_err().message().to_owned()
    }

    #[test]
    fn values_are_read() {
        let text = "status=live&customer=a%20b%2B+c&status=ended&limit=7&all=true";
        let query = Query::parse(Some(text), &KNOWN).unwrap();
        assert_eq!((query.one("customer"), query.limit(), query.flag("all")), (Some("a b+ c"), 7, true));
        assert_eq!(query.all("status"), ["live", "ended"]);
        let expected = [("customer", "a b+ c"), ("status", "ended"), ("status", "live")];
        let expected = expected.map(|(name, value)| (name, value.to_owned()));
        assert_eq!(query.filters(), expected);
        assert_eq!(Query::parse(None, &KNOWN).unwrap().limit(), DEFAULT_LIMIT);
    }

    #[test]
    fn wrong_ones_are_named() {
        for (text, expected) in [
            ("custommer=a", "unknown parameter \"custommer\""),
            ("customer=a&customer=b", "customer: given more than once"),
            ("customer=", "customer: expected 1 to 500 bytes"),
            ("customer=%ff", "customer: expected UTF-8"),
            ("limit=0", "limit: expected a number from 1 to 100"),
            ("limit=101", "limit: expected a number from 1 to 100"),
            ("limit=", "limit: expected a number from 1 to 100"),
            ("all=1", "all: expected true or false"),
            ("status=gone", "status: expected one of live, ended"),
            ("created_after=yesterday", "created_after: expected a moment"),
        ] {
            assert!(problem(text).contains(expected), "{text}: {}", problem(text));
        }
    }

    const OF_A_LIST: [Parameter; 4] =
        [filter("customer", Form::Text, ""), filter_any("status", Form::Text, ""), PAGE[0], PAGE[1]];

    fn query(text: &str) -> Query {
        Query::parse(Some(text), &OF_A_LIST).unwrap()
    }

    #[test]
    fn a_cursor_belongs_to_its_list_and_filter() {
        let cursor = write("keys", &query("customer=a&status=x&status=y"), "k7");
        let with = |filter: &str| query(&format!("{filter}&cursor={cursor}&limit=3"));
        // The order of values does not matter, nor does the limit.
        let same = with("status=y&status=x&customer=a");
        assert_eq!(read("keys", &same).unwrap().as_deref(), Some("k7"));
        for (list, filter) in [
            ("keys", "customer=a"),
            ("keys", "customer=b&status=x&status=y"),
            ("tasks", "customer=a&status=x&status=y"),
        ] {
            assert!(
                read(list, &with(filter)).unwrap_err().message().contains("another filter"),
                "{list} {filter}"
            );
        }
        assert_eq!(read("keys", &query("customer=a")).unwrap(), None);
    }

    #[test]
    fn other_text_is_no_cursor() {
        for text in ["x", "AA", "AQ", "****", "Ag1234567890123456789"] {
            assert!(read("keys", &query(&format!("cursor={text}"))).is_err(), "{text}");
        }
    }
}
