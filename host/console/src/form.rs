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

    /// The first field of that name, without the white space around it; empty when absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value.trim())
    }

    /// Every field of that name.
    pub(crate) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.trim())
    }

    /// Words of every field of that name, apart by commas, spaces or lines.
    pub(crate) fn words(&self, name: &str) -> Vec<String> {
        let split = |text: &str| -> Vec<String> {
            let parts = text.split(|c: char| c == ',' || c.is_whitespace());
            parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        self.all(name).flat_map(split).collect()
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
        assert_eq!(form.words("ip"), ["10.0.0.0/8", "::1", "1.2.3.4", "5.6.7.8"]);
        assert!(form.is_on("on") && !form.is_on("off"));
    }
}
