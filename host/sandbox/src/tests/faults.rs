//! The tables of faults, and which fault of a text is due.

use std::fmt::Debug;

use proptest::prelude::*;

use crate::common::faults::Target;
use crate::common::markers::{Argument, Faults, MarkerInfo};
use crate::{ark, context, dashscope, imagine, midjourney, text, veo};

type OfContext = Faults<context::Marker, Target>;

/// Without it a row may stand in a table that no prompt reaches.
fn all_are_read<M: Copy + Debug + PartialEq + 'static, G: 'static>(table: &'static [MarkerInfo<M, G>]) {
    for (at, row) in table.iter().enumerate() {
        let argument = if row.argument == Argument::Number { ":250" } else { "" };
        let prompt = format!("a kite [[{}{argument}]] --v 7", row.name);
        let faults = Faults::read(table, &prompt, |_| {});
        assert_eq!(faults.found.iter().map(|(row, _)| row.marker).collect::<Vec<_>>(), [row.marker]);
        assert_eq!(faults.rest, "a kite  --v 7");
        assert!(row.effect.len() > 10, "{}", row.name);
        assert!(table[at + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
    }
}

#[test]
fn every_listed_marker_is_read_and_no_two_mean_the_same() {
    all_are_read(ark::faults::MARKERS);
    all_are_read(context::MARKERS);
    all_are_read(dashscope::MARKERS);
    all_are_read(imagine::MARKERS);
    all_are_read(midjourney::MARKERS);
    all_are_read(text::MARKERS);
    all_are_read(veo::MARKERS);
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
        assert_eq!(OfContext::of(prompt), OfContext { rest: prompt.to_owned(), found: vec![] });
    }
}

#[test]
fn submits_fail_one_after_the_other() {
    use context::Marker::{Broken, Credits, TooMany};

    for (prompt, earlier, expected) in [
        ("[[402]]", u32::MAX - 1, Some(Credits)),
        ("[[429:3]]", 0, Some(TooMany)),
        ("[[429:3]]", 2, Some(TooMany)),
        ("[[429:3]]", 3, None),
        ("[[500:1]][[429:1]]", 0, Some(Broken)),
        ("[[500:1]][[429:1]]", 1, Some(TooMany)),
        ("[[500:1]][[429:1]]", 2, None),
        ("[[429:0]]", 0, None),
        ("[[429:*]]", u32::MAX, Some(TooMany)),
        ("[[error]]", 0, None),
    ] {
        assert_eq!(OfContext::of(prompt).submit_fault(earlier), expected, "{prompt} after {earlier}");
    }
}

#[test]
fn polls_fail_one_after_the_other() {
    use context::Marker::{FirstPollNotFound, PollBroken, PollMalformed, PollNotFound, PollOddStatus};

    for (prompt, earlier, expected) in [
        ("[[first-poll-404]]", 0, Some(FirstPollNotFound)),
        ("[[first-poll-404]]", 1, None),
        ("[[poll-404]]", u32::MAX, Some(PollNotFound)),
        ("[[poll-500:2]][[first-poll-404]]", 0, Some(FirstPollNotFound)),
        ("[[poll-500:2]][[first-poll-404]]", 2, Some(PollBroken)),
        ("[[poll-500:2]][[first-poll-404]]", 3, None),
        ("[[unknown-status]]", 1, Some(PollOddStatus)),
        ("[[unknown-status]]", 2, None),
        ("[[[[malformed-json]]", 0, Some(PollMalformed)),
    ] {
        assert_eq!(OfContext::of(prompt).poll_fault(earlier), expected, "{prompt} after {earlier}");
    }
}

#[test]
fn a_file_is_unavailable_for_a_while() {
    use imagine::Marker::{FileUnavailable, WrongType};

    for (prompt, earlier, expected) in [
        ("[[file-503]]", 0, Some(FileUnavailable)),
        ("[[file-503]]", 1, None),
        ("[[file-503:*]]", 9, Some(FileUnavailable)),
        ("[[wrong-type]]", 9, Some(WrongType)),
    ] {
        let faults = Faults::<imagine::Marker, Target>::of(prompt);
        assert_eq!(faults.at_after(Target::File, earlier), expected, "{prompt} after {earlier}");
    }
}

#[test]
fn a_job_takes_what_its_marker_says() {
    for (prompt, expected) in
        [("a kite", Some(7)), ("[[slow:250]]", Some(250)), ("[[slow:250]] [[never-ready]]", None)]
    {
        assert_eq!(OfContext::of(prompt).time(7), expected, "{prompt}");
    }
}

proptest! {
    #[test]
    fn any_prompt_is_read(prompt in "(\\[\\[|\\]\\]|[a-z:*0-9 -]|429|slow:|\u{e9}){0,40}") {
        let faults = OfContext::of(&prompt);
        prop_assert!(faults.rest.len() <= prompt.len());
        prop_assert!(faults.at(Target::Submit).is_some() || faults.submit_fault(0).is_none());
    }
}
