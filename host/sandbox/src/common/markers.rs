//! Markers in a prompt: tables of faults on demand, and the reader of `[[name]]` and `[[name:N]]`.
//!
//! A marker stands anywhere in the text; several may be combined. Other text in double brackets stays as it is. Knows
//! no provider: each has a table of its own.

use std::collections::HashMap;

/// What may follow a marker's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// `:N`, which may be left out.
    Maybe,
    /// `:N`, which may not.
    Number,
    /// `:K`: the first K times, or every time with `:*`; this often, where it is left out.
    Times(u32),
}

/// As a count: every time.
pub(crate) const EVER: u32 = u32::MAX;
/// Texts counted; beyond that all counts are dropped.
const MAX_COUNTED: usize = 100_000;

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerInfo<M, G> {
    /// The fault.
    pub marker: M,
    /// What stands between the brackets, without its argument.
    pub name: &'static str,
    /// What may follow the name.
    pub argument: Argument,
    /// Where it applies.
    pub group: G,
    /// What it does.
    pub effect: &'static str,
}

/// A provider's table: the faults as `Marker`, and `MARKERS`.
macro_rules! markers {
    ($group:ident; $($marker:ident $name:literal $argument:expr, $where:ident $effect:literal;)*) => {
        /// A fault on demand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Marker { $(#[doc = concat!("The marker `", $name, "`.")] $marker),* }

        /// Every marker.
        pub const MARKERS: &[$crate::common::markers::MarkerInfo<Marker, $group>] =
            &[$($crate::common::markers::MarkerInfo {
                marker: Marker::$marker, name: $name, argument: $argument, group: $group::$where, effect: $effect,
            }),*];
    };
}
pub(crate) use markers;

/// All faults a text asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Faults<M: 'static, G: 'static> {
    /// In the order of the text, each with its argument.
    pub(crate) found: Vec<(&'static MarkerInfo<M, G>, Option<u64>)>,
    /// The text without its markers.
    pub(crate) rest: String,
}

impl<M: Copy + PartialEq, G> Faults<M, G> {
    /// Reads a text; tells of other text in brackets.
    pub(crate) fn read(table: &'static [MarkerInfo<M, G>], text: &str, unknown: impl Fn(&str)) -> Self {
        let (mut faults, mut left) = (Self { found: Vec::new(), rest: String::new() }, text);
        while let Some(open) = left.find("[[") {
            let inside = left[open + 2..].split_once("]]").map(|(inside, _)| inside);
            let row = inside.and_then(|inside| row(table, inside));
            if let (None, Some(inside)) = (row, inside) {
                unknown(inside);
            }
            let length = inside.filter(|_| row.is_some()).map_or(2, |inside| inside.len() + 4);
            faults.rest.push_str(&left[..if row.is_some() { open } else { open + 2 }]);
            faults.found.extend(row);
            left = &left[open + length..];
        }
        faults.rest.push_str(left);
        faults
    }

    pub(crate) fn has(&self, marker: M) -> bool {
        self.found.iter().any(|(row, _)| row.marker == marker)
    }

    /// The argument of a marker.
    pub(crate) fn number(&self, marker: M) -> Option<u64> {
        self.found.iter().find(|(row, _)| row.marker == marker)?.1
    }

    /// The fault after `earlier` others, when each of those that `counts` comes so many times in a row.
    pub(crate) fn after(&self, earlier: u32, counts: impl Fn(&MarkerInfo<M, G>) -> bool) -> Option<M> {
        let mut left = earlier;
        for (row, times) in self.found.iter().filter(|(row, _)| counts(row)) {
            let times = u32::try_from(times.unwrap_or_default()).unwrap_or(EVER);
            match left.checked_sub(times) {
                Some(later) if times != EVER => left = later,
                _ => return Some(row.marker),
            }
        }
        None
    }
}

impl<M: Copy, G: PartialEq> Faults<M, G> {
    /// The fault of a group that one fault strikes, the last in the text, and its number.
    pub(crate) fn at(&self, group: G) -> Option<(M, u64)> {
        let (row, number) = self.found.iter().rfind(|(row, _)| row.group == group)?;
        Some((row.marker, number.unwrap_or_default()))
    }

    /// The same fault after `earlier` others: one that is counted comes so many times.
    pub(crate) fn at_after(&self, group: G, earlier: u32) -> Option<M> {
        let (row, number) = self.found.iter().rfind(|(row, _)| row.group == group)?;
        let times =
            number.filter(|times| matches!(row.argument, Argument::Times(_)) && *times != u64::from(EVER));
        times.is_none_or(|times| u64::from(earlier) < times).then_some(row.marker)
    }
}

/// The row of the text between brackets and its argument, unless it is no marker.
fn row<M, G>(
    table: &'static [MarkerInfo<M, G>],
    inside: &str,
) -> Option<(&'static MarkerInfo<M, G>, Option<u64>)> {
    let (name, argument) = inside.split_once(':').map_or((inside, None), |(name, it)| (name, Some(it)));
    let row = table.iter().find(|row| row.name == name)?;
    let number = match (row.argument, argument) {
        (Argument::None | Argument::Maybe, None) => None,
        (Argument::Times(usual), None) => Some(usual.into()),
        (Argument::Times(_), Some("*")) => Some(EVER.into()),
        (Argument::None, Some(_)) | (Argument::Number, None) => return None,
        (_, Some(digits)) => Some(digits.parse().ok()?),
    };
    Some((row, number))
}

/// How often each text came. Bounded.
#[derive(Default)]
pub(crate) struct Counts(HashMap<String, u32>);

impl Counts {
    /// Counts a text; gives how often it came before.
    pub(crate) fn count(&mut self, text: &str) -> u32 {
        if self.0.len() >= MAX_COUNTED {
            self.0.clear();
        }
        count(self.0.entry(text.to_owned()).or_default())
    }
}

/// Counts once more; gives how often it was before.
pub(crate) fn count(times: &mut u32) -> u32 {
    let before = *times;
    *times = before.saturating_add(1);
    before
}
