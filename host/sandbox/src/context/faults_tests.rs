//! Markers are read as their table says, and any other prompt is left alone.

use proptest::prelude::*;

use super::*;

#[test]
fn every_listed_marker_is_read() {
    for (marker, says) in MARKERS {
        let prompt = format!("a kite {} in the wind", marker.replace("MS", "250"));
        assert_ne!(Faults::of(&prompt), Faults::default(), "{marker}");
        assert!(says.len() > 10, "{marker}");
    }
}

#[test]
fn no_two_markers_mean_the_same() {
    for (at, (marker, _)) in MARKERS.iter().enumerate() {
        for (other, _) in &MARKERS[at + 1..] {
            let (one, two) = (marker.replace("MS", "250"), other.replace("MS", "250"));
            assert_ne!(Faults::of(&one), Faults::of(&two), "{marker} {other}");
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
        assert_eq!(Faults::of(prompt), Faults::default(), "{prompt}");
    }
}

#[test]
fn turns_of_submits() {
    for (prompt, earlier, expected) in [
        ("[[402]]", 1000, Some(SubmitFault::Credits)),
        ("[[429:3]]", 0, Some(SubmitFault::TooMany)),
        ("[[429:3]]", 2, Some(SubmitFault::TooMany)),
        ("[[429:3]]", 3, None),
        ("[[500:1]][[429:1]]", 0, Some(SubmitFault::Broken)),
        ("[[500:1]][[429:1]]", 1, Some(SubmitFault::TooMany)),
        ("[[500:1]][[429:1]]", 2, None),
        ("[[429:0]]", 0, None),
        ("[[429:*]]", u32::MAX, Some(SubmitFault::TooMany)),
    ] {
        assert_eq!(Faults::of(prompt).submit_fault(earlier), expected, "{prompt} after {earlier}");
    }
}

#[test]
fn turns_of_polls() {
    for (prompt, earlier, expected) in [
        ("[[first-poll-404]]", 0, Some(PollFault::NotFound)),
        ("[[first-poll-404]]", 1, None),
        ("[[poll-404]]", u32::MAX, Some(PollFault::NotFound)),
        ("[[poll-500:2]][[first-poll-404]]", 0, Some(PollFault::NotFound)),
        ("[[poll-500:2]][[first-poll-404]]", 2, Some(PollFault::Broken)),
        ("[[poll-500:2]][[first-poll-404]]", 3, None),
        ("[[unknown-status]]", 1, Some(PollFault::OddStatus)),
        ("[[unknown-status]]", 2, None),
        ("[[[[malformed-json]]", 0, Some(PollFault::Malformed)),
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
