//! Faults on demand: markers in the prompt, each for one failure of a job.
//!
//! [`MARKERS`] is the whole list. A marker stands anywhere in the prompt; several may be combined. `:K` limits
//! a fault to the first K submits of that very prompt, or to the first K polls of that job; `:*` is every one.
//! Other text in double brackets is part of the prompt.
//!
//! Faults of a submit come after the checks of key and body. Faults of polls come in the order of the table:
//! `[[poll-500:2]][[first-poll-404]]` is one 404, then two 500s, then the result.

/// Every marker and what it does.
pub const MARKERS: &[(&str, &str)] = &[
    ("[[402]]", "submit answers 402 (every time, or the first K with [[402:K]])"),
    ("[[403]]", "submit answers 403 (every time, or the first K)"),
    ("[[422]]", "submit answers 422 with a list of field_errors (every time, or the first K)"),
    ("[[429]]", "submit answers 429 with Retry-After (every time, or the first K)"),
    ("[[500]]", "submit answers 500 in plain text (every time, or the first K)"),
    ("[[503-html]]", "submit answers 503 with an HTML page (every time, or the first K)"),
    ("[[garbage-submit]]", "the job is accepted, the reply is not JSON"),
    ("[[submit-hang]]", "the job is accepted, the reply never comes"),
    ("[[submit-cut]]", "the job is accepted, the connection closes without a reply"),
    ("[[foreign-poll]]", "the polling_url is on a host that is not the provider's"),
    ("[[slow:MS]]", "the job takes MS milliseconds"),
    ("[[never-ready]]", "the job stays Pending"),
    ("[[first-poll-404]]", "the first poll (or the first K) answers 404, Task not found"),
    ("[[poll-404]]", "every poll (or the first K) answers 404, Task not found"),
    ("[[poll-500]]", "the first poll (or the first K) answers 500"),
    ("[[malformed-json]]", "the first poll (or the first K) answers 200 with broken JSON"),
    ("[[unknown-status]]", "the first two polls (or the first K) answer status words nobody knows"),
    ("[[moderated-input]]", "the job ends as Request Moderated"),
    ("[[moderated-output]]", "the job ends as Content Moderated"),
    ("[[error]]", "the job ends as Error"),
    ("[[expired-link]]", "the first link is dead on arrival, the next poll's is fresh"),
    ("[[dead-link]]", "every link is dead on arrival"),
    ("[[foreign-link]]", "the link is on a host that is not the provider's"),
    ("[[private-link]]", "the link points into a private network"),
    ("[[wrong-type]]", "the file is an HTML page"),
    ("[[truncated-image]]", "the connection closes in the middle of the file"),
    ("[[delivery-503]]", "the first download (or the first K) answers 503"),
];

/// Without end, as a count.
const EVER: u32 = u32::MAX;

/// A refused submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubmitFault {
    Broken,
    Credits,
    Key,
    Schema,
    TooMany,
    Unavailable,
}

/// A faulty reply to an accepted submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiptFault {
    Cut,
    ForeignPoll,
    Garbage,
    Hang,
}

/// A faulty poll. Several come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PollFault {
    NotFound,
    Broken,
    Malformed,
    OddStatus,
}

/// How a job ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    ContentModerated,
    Error,
    #[default]
    Ready,
    RequestModerated,
}

/// How long a job takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum JobTime {
    Milliseconds(u64),
    Never,
    #[default]
    Usual,
}

/// A faulty link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkFault {
    Dead,
    ExpiredOnce,
    Foreign,
    Private,
}

/// A faulty file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFault {
    Truncated,
    /// Of the first so many downloads.
    Unavailable(u32),
    WrongType,
}

/// All faults a prompt asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    submit: Vec<(SubmitFault, u32)>,
    poll: Vec<(PollFault, u32)>,
    pub(crate) receipt: Option<ReceiptFault>,
    pub(crate) job_time: JobTime,
    pub(crate) ending: Ending,
    pub(crate) link: Option<LinkFault>,
    pub(crate) file: Option<FileFault>,
}

impl Faults {
    /// Reads the markers of a prompt.
    pub(crate) fn of(prompt: &str) -> Self {
        let mut faults = Self::default();
        let mut rest = prompt;
        while let Some((_, after)) = rest.split_once("[[") {
            let Some((marker, _)) = after.split_once("]]") else { break };
            let (name, argument) = marker.split_once(':').map_or((marker, None), |(n, a)| (n, Some(a)));
            if !faults.add(name, argument) {
                tracing::warn!(marker, "not a sandbox marker, taken as plain prompt");
            }
            rest = after;
        }
        faults.poll.sort_by_key(|(fault, _)| *fault);
        faults
    }

    /// Adds one marker; `false` when it is none.
    fn add(&mut self, name: &str, argument: Option<&str>) -> bool {
        let count = match argument {
            None => None,
            Some("*") => Some(EVER),
            Some(digits) => match digits.parse() {
                Ok(count) => Some(count),
                Err(_) => return false,
            },
        };
        if let Some(fault) = submit_fault(name) {
            self.submit.push((fault, count.unwrap_or(EVER)));
            return true;
        }
        if let Some((fault, usual)) = poll_fault(name) {
            self.poll.push((fault, count.unwrap_or(usual)));
            return true;
        }
        match (name, count) {
            ("garbage-submit", None) => self.receipt = Some(ReceiptFault::Garbage),
            ("submit-hang", None) => self.receipt = Some(ReceiptFault::Hang),
            ("submit-cut", None) => self.receipt = Some(ReceiptFault::Cut),
            ("foreign-poll", None) => self.receipt = Some(ReceiptFault::ForeignPoll),
            ("slow", Some(ms)) => self.job_time = JobTime::Milliseconds(ms.into()),
            ("never-ready", None) => self.job_time = JobTime::Never,
            ("moderated-input", None) => self.ending = Ending::RequestModerated,
            ("moderated-output", None) => self.ending = Ending::ContentModerated,
            ("error", None) => self.ending = Ending::Error,
            ("expired-link", None) => self.link = Some(LinkFault::ExpiredOnce),
            ("dead-link", None) => self.link = Some(LinkFault::Dead),
            ("foreign-link", None) => self.link = Some(LinkFault::Foreign),
            ("private-link", None) => self.link = Some(LinkFault::Private),
            ("wrong-type", None) => self.file = Some(FileFault::WrongType),
            ("truncated-image", None) => self.file = Some(FileFault::Truncated),
            ("delivery-503", count) => self.file = Some(FileFault::Unavailable(count.unwrap_or(1))),
            _ => return false,
        }
        true
    }

    /// Whether submits of this prompt have to be counted.
    pub(crate) fn refuses(&self) -> bool {
        !self.submit.is_empty()
    }

    /// The fault of a submit, after `earlier` others of this prompt.
    pub(crate) fn submit_fault(&self, earlier: u32) -> Option<SubmitFault> {
        fault_after(&self.submit, earlier)
    }

    /// The fault of a poll, after `earlier` others of this job.
    pub(crate) fn poll_fault(&self, earlier: u32) -> Option<PollFault> {
        fault_after(&self.poll, earlier)
    }
}

/// The fault after `earlier` others, when each comes so many times in a row.
fn fault_after<F: Copy>(faults: &[(F, u32)], earlier: u32) -> Option<F> {
    let mut left = earlier;
    for &(fault, count) in faults {
        match left.checked_sub(count) {
            Some(later) if count != EVER => left = later,
            _ => return Some(fault),
        }
    }
    None
}

fn submit_fault(name: &str) -> Option<SubmitFault> {
    Some(match name {
        "402" => SubmitFault::Credits,
        "403" => SubmitFault::Key,
        "422" => SubmitFault::Schema,
        "429" => SubmitFault::TooMany,
        "500" => SubmitFault::Broken,
        "503-html" => SubmitFault::Unavailable,
        _ => return None,
    })
}

/// The fault, and how often it happens when the marker does not say.
fn poll_fault(name: &str) -> Option<(PollFault, u32)> {
    Some(match name {
        "first-poll-404" => (PollFault::NotFound, 1),
        "poll-404" => (PollFault::NotFound, EVER),
        "poll-500" => (PollFault::Broken, 1),
        "malformed-json" => (PollFault::Malformed, 1),
        "unknown-status" => (PollFault::OddStatus, 2),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
