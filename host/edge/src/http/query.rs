//! The query string as named parameters, each at most once. Unknown names are ignored.

use std::str::FromStr;

use crate::errors::Refusal;

/// A decoded query string.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// The value of `name`. A repeated name is an error, because two readers would pick different values.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(Refusal::field(name, format!("{name}: given more than once")));
        }
        Ok(first)
    }

    /// The value of `name` read by `read`, or a 400 that says what was expected.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let wrong = || Refusal::field(name, format!("{name}: expected {expected}, not {}", quoted(text)));
        read(text).map(Some).ok_or_else(wrong)
    }

    /// The value of `name` parsed into its type.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, Refusal> {
        self.read(name, expected, |text| text.parse().ok())
    }

    /// `limit`: rows of one page, 20 where the client names no number.
    pub(crate) fn page_limit(&self) -> Result<usize, Refusal> {
        let limit: Option<usize> = self.read("limit", "a number from 1 to 100", |text| {
            text.parse().ok().filter(|limit| (1..=100).contains(limit))
        })?;
        Ok(limit.unwrap_or(20))
    }
}

/// A client's text inside one of our messages: quoted, escaped, and cut.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_once() {
        let query = Query::parse(Some("limit=5&after=a%20b&status=&limit2=1"));
        assert_eq!(query.parsed::<u8>("limit", "a number").unwrap(), Some(5));
        assert_eq!(query.one("after").unwrap(), Some("a b"));
        assert_eq!(query.one("status").unwrap(), Some(""));
        assert_eq!(query.one("model").unwrap(), None);
        assert!(query.parsed::<u8>("after", "a number").is_err());
        assert!(Query::parse(Some("a=1&a=1")).one("a").is_err());
        assert!(Query::parse(None).one("a").unwrap().is_none());
    }

    #[test]
    fn quotes_stay_short() {
        assert_eq!(quoted("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(quoted(&"\u{e9}".repeat(500)).chars().count(), 125);
    }
}
