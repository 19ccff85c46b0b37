//! Faults on demand: reads the markers in the last text of the user.
//!
//! A marker stands in double brackets anywhere in the text; several may be combined. [`MARKERS`] is the whole list;
//! other text in double brackets stays as it is.

use super::markers::{Argument, MARKERS, Marker, MarkerInfo, Protocol};

/// All faults a text asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// Refusals and how many requests each answers, one after the other.
    refusals: Vec<(Marker, u32)>,
    others: Vec<(Marker, Option<u64>)>,
    /// The text without its markers.
    pub(crate) rest: String,
}

impl Faults {
    pub(crate) fn of(text: &str) -> Self {
        let (mut faults, mut left) = (Self::default(), text);
        while let Some(open) = left.find("[[") {
            let inside = &left[open + 2..];
            let known = inside.find("]]").filter(|close| faults.take(&inside[..*close]));
            let end = known.map_or(open + 2, |close| open + 2 + close + 2);
            faults.rest.push_str(&left[..known.map_or(end, |_| open)]);
            left = &left[end..];
        }
        faults.rest.push_str(left);
        faults
    }

    /// Without the markers of other protocols, which do nothing here.
    pub(crate) fn within(mut self, protocol: Protocol) -> Self {
        let applies = |row: &MarkerInfo| [Protocol::Both, protocol].contains(&row.protocol);
        self.others.retain(|(marker, _)| MARKERS.iter().any(|row| row.marker == *marker && applies(row)));
        self
    }

    pub(crate) fn has(&self, marker: Marker) -> bool {
        self.others.iter().any(|(found, _)| *found == marker)
    }

    /// The argument of a marker.
    pub(crate) fn number(&self, marker: Marker) -> Option<u64> {
        self.others.iter().find(|(found, _)| *found == marker)?.1
    }

    /// Whether the fault comes after so many deltas.
    pub(crate) fn due(&self, marker: Marker, deltas: u64) -> bool {
        self.has(marker) && self.number(marker).unwrap_or(1) == deltas
    }

    /// Whether requests have to be counted.
    pub(crate) fn refuses(&self) -> bool {
        !self.refusals.is_empty()
    }

    /// The refusal, after so many earlier requests with this text.
    pub(crate) fn refusal(&self, earlier: u32) -> Option<Marker> {
        let mut end = 0_u32;
        self.refusals.iter().find_map(|(marker, times)| {
            end = end.saturating_add(*times);
            (earlier < end).then_some(*marker)
        })
    }

    /// Takes the text between brackets; `false` when it is no marker.
    fn take(&mut self, inside: &str) -> bool {
        let (name, argument) = match inside.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (inside, None),
        };
        let Some(row) = MARKERS.iter().find(|row| row.name == name) else { return false };
        let number = match argument.map(str::parse::<u64>) {
            Some(Ok(number)) => Some(number),
            Some(Err(_)) => return false,
            None => None,
        };
        match (row.argument, number) {
            (Argument::Times, times) => {
                let times = times.map_or(u32::MAX, |times| u32::try_from(times).unwrap_or(u32::MAX));
                self.refusals.push((row.marker, times));
            }
            (Argument::None, None) | (Argument::Maybe, _) | (Argument::Number, Some(_)) => {
                self.others.push((row.marker, number));
            }
            (Argument::None, Some(_)) | (Argument::Number, None) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_row_is_read_and_is_one_of_a_kind() {
        for (at, row) in MARKERS.iter().enumerate() {
            let argument = if row.argument == Argument::Number { ":7" } else { "" };
            let faults = Faults::of(&format!("a [[{}{argument}]] kite", row.name));
            assert!(faults.has(row.marker) || faults.refusal(0) == Some(row.marker), "{}", row.name);
            assert_eq!(faults.rest, "a  kite", "{}", row.name);
            assert!(row.says.len() > 8, "{}", row.name);
            let twin = MARKERS[at + 1..].iter().find(|it| it.name == row.name || it.marker == row.marker);
            assert!(twin.is_none(), "{}", row.name);
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in ["", "[[", "]]", "[[kite]]", "[[429:x]]", "[[words]]", "[[gzip:2]]", "[429]", "[[429"] {
            assert_eq!(Faults::of(text), Faults { rest: text.to_owned(), ..Faults::default() }, "{text}");
        }
    }

    #[test]
    fn refusals_take_turns() {
        for (text, earlier, expected) in [
            ("[[402]]", u32::MAX - 1, Some(Marker::Billing)),
            ("[[429:3]]", 2, Some(Marker::TooMany)),
            ("[[429:3]]", 3, None),
            ("[[500:1]][[529:1]]", 0, Some(Marker::Broken)),
            ("[[500:1]][[529:1]]", 1, Some(Marker::Overloaded)),
            ("[[500:1]][[529:1]]", 2, None),
            ("[[529:0]]", 0, None),
            ("[[gzip]]", 0, None),
        ] {
            assert_eq!(Faults::of(text).refusal(earlier), expected, "{text} after {earlier}");
        }
    }

    #[test]
    fn numbers() {
        let faults = Faults::of("[[[[cut:3]] [[stall]] [[words:50]]");
        assert_eq!(faults.rest, "[[  ");
        assert_eq!((faults.number(Marker::Cut), faults.number(Marker::Words)), (Some(3), Some(50)));
        assert!(faults.due(Marker::Cut, 3) && faults.due(Marker::Stall, 1) && !faults.due(Marker::Cut, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\[\\[|\\]\\]|[a-z:0-9 -]|429|words:|\u{e9}){0,40}") {
            prop_assert!(Faults::of(&text).rest.len() <= text.len());
        }
    }
}
