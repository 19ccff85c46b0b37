//! How providers frame a stream, by the words of the contract.

/// How a provider frames a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    #[default]
    Sse,
    /// A frame a line, empty lines left out.
    Lines,
    /// Each item of one JSON array is a frame.
    JsonArray,
    /// It does not stream: its answer is read whole.
    Whole,
}

impl Framing {
    /// All of them, by their names.
    pub const NAMES: [(&str, Self); 4] =
        [("sse", Self::Sse), ("lines", Self::Lines), ("json-array", Self::JsonArray), ("whole", Self::Whole)];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, framing)| *framing == self).map_or("", |(name, _)| name)
    }

    /// The framing of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, framing)| *framing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a framing that was added could be written and not read.
    #[test]
    fn each_framing_has_one_name() {
        for framing in [Framing::Sse, Framing::Lines, Framing::JsonArray, Framing::Whole] {
            assert_eq!(Framing::named(framing.name()), Some(framing));
        }
        assert_eq!(Framing::named(""), None);
    }
}
