//! Fields of a submitted form or of a query. Never decides what a field means.

use url::form_urlencoded;

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
}
