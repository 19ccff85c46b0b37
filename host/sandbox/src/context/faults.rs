//! Faults on demand: markers in the prompt, each for one failure of a job.
//!
//! `:K` limits a fault to the first K submits of that very prompt, or to the first K polls of that job. Faults of a
//! submit come after the checks of key and body. Faults of polls come in the order of the table:
//! `[[poll-500:2]][[first-poll-404]]` is one 404, then two 500s, then the result.

use crate::common::markers::Argument::{self, Number, Times};
use crate::common::markers::{self, EVER, markers};

const NONE: Argument = Argument::None;

/// What a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A submit, which it refuses.
    Submit,
    /// The reply to an accepted submit.
    Receipt,
    /// The time a job takes.
    JobTime,
    /// A poll.
    Poll,
    /// The end of a job.
    Ending,
    /// The link to the file.
    Link,
    /// The file.
    File,
}

markers! {
    Target;
    Credits "402" Times(EVER), Submit "submit answers 402 (every time, or the first K with [[402:K]])";
    Key "403" Times(EVER), Submit "submit answers 403 (every time, or the first K)";
    Schema "422" Times(EVER), Submit "submit answers 422 with a list of field_errors (every time, or the first K)";
    TooMany "429" Times(EVER), Submit "submit answers 429 with Retry-After (every time, or the first K)";
    Broken "500" Times(EVER), Submit "submit answers 500 in plain text (every time, or the first K)";
    Unavailable "503-html" Times(EVER), Submit "submit answers 503 with an HTML page (every time, or the first K)";
    SubmitGarbage "garbage-submit" NONE, Receipt "the job is accepted, the reply is not JSON";
    SubmitHang "submit-hang" NONE, Receipt "the job is accepted, the reply never comes";
    SubmitCut "submit-cut" NONE, Receipt "the job is accepted, the connection closes without a reply";
    ForeignPoll "foreign-poll" NONE, Receipt "the polling_url is on a host that is not the provider's";
    Slow "slow" Number, JobTime "the job takes N milliseconds";
    NeverReady "never-ready" NONE, JobTime "the job stays Pending";
    FirstPollNotFound "first-poll-404" Times(1), Poll "the first poll (or the first K) answers 404, Task not found";
    PollNotFound "poll-404" Times(EVER), Poll "every poll (or the first K) answers 404, Task not found";
    PollBroken "poll-500" Times(1), Poll "the first poll (or the first K) answers 500";
    PollMalformed "malformed-json" Times(1), Poll "the first poll (or the first K) answers 200 with broken JSON";
    PollOddStatus "unknown-status" Times(2), Poll "the first two polls (or the first K) answer status words nobody knows";
    RequestModerated "moderated-input" NONE, Ending "the job ends as Request Moderated";
    ContentModerated "moderated-output" NONE, Ending "the job ends as Content Moderated";
    Error "error" NONE, Ending "the job ends as Error";
    ExpiredLink "expired-link" NONE, Link "the first link is dead on arrival, the next poll's is fresh";
    DeadLink "dead-link" NONE, Link "every link is dead on arrival";
    ForeignLink "foreign-link" NONE, Link "the link is on a host that is not the provider's";
    PrivateLink "private-link" NONE, Link "the link points into a private network";
    WrongType "wrong-type" NONE, File "the file is an HTML page";
    Truncated "truncated-image" NONE, File "the connection closes in the middle of the file";
    FileUnavailable "delivery-503" Times(1), File "the first download (or the first K) answers 503";
}

/// All faults a prompt asks for.
pub(crate) type Faults = markers::Faults<Marker, Target>;

impl Faults {
    /// Reads the markers of a prompt.
    pub(crate) fn of(prompt: &str) -> Self {
        let mut faults = Self::read(MARKERS, prompt, |marker| {
            tracing::warn!(marker, "not a sandbox marker, taken as plain prompt");
        });
        faults.found.sort_by_key(|(row, _)| (row.group == Target::Poll).then_some(row.marker));
        faults
    }

    /// Whether submits of this prompt have to be counted.
    pub(crate) fn refuses(&self) -> bool {
        self.at(Target::Submit).is_some()
    }

    /// The fault of a submit, after `earlier` others of this prompt.
    pub(crate) fn submit_fault(&self, earlier: u32) -> Option<Marker> {
        self.after(earlier, |row| row.group == Target::Submit)
    }

    /// The fault of a poll, after `earlier` others of this job.
    pub(crate) fn poll_fault(&self, earlier: u32) -> Option<Marker> {
        self.after(earlier, |row| row.group == Target::Poll)
    }

    /// The fault of the file, after `earlier` downloads.
    pub(crate) fn file_fault(&self, earlier: u32) -> Option<Marker> {
        self.at_after(Target::File, earlier)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(prompt: &str) -> Vec<(Marker, Option<u64>)> {
        Faults::of(prompt).found.iter().map(|(row, number)| (row.marker, *number)).collect()
    }

    fn shown(row: &markers::MarkerInfo<Marker, Target>) -> String {
        format!("[[{}{}]]", row.name, if row.argument == Number { ":250" } else { "" })
    }

    #[test]
    fn every_listed_marker_is_read() {
        for row in MARKERS {
            let prompt = format!("a kite {} in the wind", shown(row));
            assert_ne!(found(&prompt), [], "{}", row.name);
            assert!(row.effect.len() > 10, "{}", row.name);
        }
    }

    #[test]
    fn no_two_markers_mean_the_same() {
        for (at, row) in MARKERS.iter().enumerate() {
            for other in &MARKERS[at + 1..] {
                assert_ne!(found(&shown(row)), found(&shown(other)), "{} {}", row.name, other.name);
            }
        }
    }

    #[test]
    fn plain_prompts() {
        for prompt in [
            "",
            "a kite",
            "[[",
            "]]",
            "[[kite]]",
            "[[429:x]]",
            "[[slow]]",
            "[[slow:x]]",
            "[[error:2]]",
            "[429]",
            "[[429",
        ] {
            assert_eq!(found(prompt), [], "{prompt}");
        }
    }

    #[test]
    fn submits_fail_one_after_the_other() {
        for (prompt, earlier, expected) in [
            ("[[402]]", 1000, Some(Marker::Credits)),
            ("[[429:3]]", 0, Some(Marker::TooMany)),
            ("[[429:3]]", 2, Some(Marker::TooMany)),
            ("[[429:3]]", 3, None),
            ("[[500:1]][[429:1]]", 0, Some(Marker::Broken)),
            ("[[500:1]][[429:1]]", 1, Some(Marker::TooMany)),
            ("[[500:1]][[429:1]]", 2, None),
            ("[[429:0]]", 0, None),
            ("[[429:*]]", u32::MAX, Some(Marker::TooMany)),
        ] {
            assert_eq!(Faults::of(prompt).submit_fault(earlier), expected, "{prompt} after {earlier}");
        }
    }

    #[test]
    fn polls_fail_one_after_the_other() {
        for (prompt, earlier, expected) in [
            ("[[first-poll-404]]", 0, Some(Marker::FirstPollNotFound)),
            ("[[first-poll-404]]", 1, None),
            ("[[poll-404]]", u32::MAX, Some(Marker::PollNotFound)),
            ("[[poll-500:2]][[first-poll-404]]", 0, Some(Marker::FirstPollNotFound)),
            ("[[poll-500:2]][[first-poll-404]]", 2, Some(Marker::PollBroken)),
            ("[[poll-500:2]][[first-poll-404]]", 3, None),
            ("[[unknown-status]]", 1, Some(Marker::PollOddStatus)),
            ("[[unknown-status]]", 2, None),
            ("[[[[malformed-json]]", 0, Some(Marker::PollMalformed)),
        ] {
            assert_eq!(Faults::of(prompt).poll_fault(earlier), expected, "{prompt} after {earlier}");
        }
    }

    proptest! {
        #[test]
        fn any_prompt_is_read(prompt in "(\\[\\[|\\]\\]|[a-z:*0-9 -]|429|slow:|\u{e9}){0,40}") {
            let faults = Faults::of(&prompt);
            prop_assert!(faults.refuses() || faults.submit_fault(0).is_none());
        }
    }
}
