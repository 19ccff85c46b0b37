//! How the provider answers submissions, how its jobs end, and its outages. Plain data of a plan.

use std::collections::VecDeque;

/// How the provider answers one arrival of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Takes it.
    Take,
    /// Takes it, and the answer is lost.
    TakeAndHangUp,
    /// Takes it, and answers with bytes that are not JSON.
    TakeAndAnswerGarbage,
    /// Takes it, and answers after so many milliseconds.
    TakeSlowly(u64),
    /// Knows the idempotency token, and answers as for the first time.
    Repeat,
    /// Hangs up without having taken it.
    HangUp,
    /// 429, with `Retry-After` in seconds when there is one.
    TooMany(Option<u64>),
    /// An error of this status.
    Error(u16),
}

impl Answer {
    /// Whether the provider works on it from then on.
    pub(crate) fn takes(self) -> bool {
        matches!(self, Self::Take | Self::TakeAndHangUp | Self::TakeAndAnswerGarbage | Self::TakeSlowly(_))
    }

    /// Whether it says that nothing was taken: too many calls, or an account that is refused.
    pub(crate) fn says_not_taken(self) -> bool {
        matches!(self, Self::TooMany(_) | Self::Error(401..=403))
    }
}

/// How a job ends at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Ready,
    /// Ready, but its answer names no picture.
    Empty,
    /// The picture was moderated.
    Moderated,
    Error,
    Never,
    /// The provider forgets it.
    Lost,
}

/// What happens to the task of one prompt.
#[derive(Clone, Debug)]
pub(crate) struct TaskOutcome {
    /// One for each arrival; every later one is taken.
    pub(crate) answers: VecDeque<Answer>,
    /// How long the provider works on it, ms.
    pub(crate) works: u64,
    pub(crate) end: JobEnd,
    /// So many fetches of the picture fail.
    pub(crate) broken_fetches: u32,
}

impl TaskOutcome {
    /// Everything goes well.
    pub(crate) fn success() -> Self {
        Self { answers: VecDeque::new(), works: 5_000, end: JobEnd::Ready, broken_fetches: 0 }
    }
}

/// How one poll for several jobs is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListAnswer {
    /// With every job.
    Whole,
    /// Without the first job.
    WithoutFirst,
    /// With an error of this status.
    Error(u16),
    /// With bytes that are not JSON.
    Garbage,
    HangUp,
}

/// What every client of the provider meets, in spans of elapsed milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outages {
    /// No connection.
    pub(crate) unreachable: Vec<(u64, u64)>,
    /// 429 to everything, with that `Retry-After`.
    pub(crate) rate_limits: Vec<(u64, u64, Option<u64>)>,
}

impl Outages {
    pub(crate) fn is_unreachable(&self, at: u64) -> bool {
        self.unreachable.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    pub(crate) fn rate_limit(&self, at: u64) -> Option<Option<u64>> {
        self.rate_limits.iter().find(|(from, to, _)| (*from..*to).contains(&at)).map(|(_, _, after)| *after)
    }
}
