//! The engine's versions.

use std::fmt;

/// A version, with its numbers for comparisons: (6, 1) is 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) niji: bool,
    pub(crate) number: (u8, u8),
}

const PLAIN: [(&str, (u8, u8)); 10] = [
    ("8.2", (8, 2)),
    ("8.1", (8, 1)),
    ("8", (8, 0)),
    ("7", (7, 0)),
    ("6.1", (6, 1)),
    ("6", (6, 0)),
    ("5.2", (5, 2)),
    ("5.1", (5, 1)),
    ("5", (5, 0)),
    ("4", (4, 0)),
];
const NIJI: [(&str, (u8, u8)); 3] = [("7", (7, 0)), ("6", (6, 0)), ("5", (5, 0))];

impl Version {
    /// What a prompt without a version gets.
    pub(crate) const USUAL: Self = Self { niji: false, number: (7, 0) };

    /// The version of that name, `--v`'s or `--niji`'s.
    pub(crate) fn named(niji: bool, name: &str) -> Option<Self> {
        let known: &[_] = if niji { &NIJI } else { &PLAIN };
        let (_, number) = known.iter().find(|(known, _)| *known == name)?;
        Some(Self { niji, number: *number })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: &[_] = if self.niji { &NIJI } else { &PLAIN };
        let name = known.iter().find(|(_, number)| *number == self.number).map_or("", |(name, _)| name);
        write!(out, "{}{name}", if self.niji { "niji " } else { "v " })
    }
}
