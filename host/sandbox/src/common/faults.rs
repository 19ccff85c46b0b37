//! Faults on demand of the providers of pictures and films: what a marker strikes, and which fault is due.
//!
//! Knows no provider: each has a table of its own, made by `faults!`. Without another word of its table, `:K` limits a fault to
//! the first K submissions of that very text, or to the first K polls of that job or downloads of that file. Faults of polls come in
//! the order of the table: `[[poll-500:2]][[first-poll-404]]` is one 404, then two 500s, then the result.

use crate::common::markers::{self, Counts, MarkerInfo};

pub(crate) use crate::common::markers::Argument::{None as NONE, Number, Times};
pub(crate) use crate::common::markers::EVER;

/// What a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A submission, which it refuses.
    Submit,
    /// The reply to an accepted submission.
    Receipt,
    /// The time a job takes.
    Time,
    /// A poll.
    Poll,
    /// The end of a job.
    Ending,
    /// The form of a job's record.
    Form,
    /// The size of the files.
    Size,
    /// The link to a file.
    Link,
    /// A file.
    File,
    /// The step from which the other faults hold.
    Begin,
}

/// The faults of one provider.
pub trait Fault: Copy + Ord + 'static {
    /// All of them.
    const TABLE: &'static [MarkerInfo<Self, Target>];
}

/// A provider's table.
macro_rules! faults {
    ($($rows:tt)*) => {
        $crate::common::markers::markers! { Target; $($rows)* }

        impl $crate::common::faults::Fault for Marker {
            const TABLE: &'static [$crate::common::markers::MarkerInfo<Self, Target>] = MARKERS;
        }

        /// All faults a text asks for.
        pub(crate) type Faults = $crate::common::markers::Faults<Marker, Target>;
    };
}
pub(crate) use faults;

/// Status, code and message of a fault: a row an error, with the faults that it answers. The last row is that of all others.
macro_rules! errors {
    ($fault:expr; $($($marker:ident)|+ => $error:expr;)* _ => $other:expr;) => {
        match $fault {
            $($(Marker::$marker)|+ => $error,)*
            _ => $other,
        }
    };
}
pub(crate) use errors;

impl<M: Fault> markers::Faults<M, Target> {
    /// Reads the markers of a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut faults = Self::read(M::TABLE, text, |marker| {
            tracing::warn!(marker, "not a marker of this provider, taken as plain text");
        });
        faults.found.sort_by_key(|(row, _)| (row.group == Target::Poll).then_some(row.marker));
        faults
    }

    /// The fault of a submission, after `earlier` others of this text.
    pub(crate) fn submit_fault(&self, earlier: u32) -> Option<M> {
        self.after(earlier, |row| row.group == Target::Submit)
    }

    /// The same after those counted, of which this is one more if the text has such a fault.
    pub(crate) fn strike(&self, counts: &mut Counts, text: &str) -> Option<M> {
        self.at(Target::Submit)?;
        self.submit_fault(counts.count(text))
    }

    /// The fault of a poll, after `earlier` others of this job.
    pub(crate) fn poll_fault(&self, earlier: u32) -> Option<M> {
        self.after(earlier, |row| row.group == Target::Poll)
    }

    /// The fault of that kind, the last in the text.
    pub(crate) fn fault(&self, target: Target) -> Option<M> {
        self.at(target).map(|(marker, _)| marker)
    }

    /// Milliseconds that a job takes: `usual`, what a marker says, or `None` for ever.
    pub(crate) fn time(&self, usual: u64) -> Option<u64> {
        match self.found.iter().rfind(|(row, _)| row.group == Target::Time) {
            None => Some(usual),
            Some((_, number)) => *number,
        }
    }
}
