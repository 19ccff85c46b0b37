//! The text of an answer: it repeats parts of the request, so that a test sees what arrived, then random words.

use crate::text::answer::seed::Seed;
use crate::text::answer::words;

/// The parts of a request that the text repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerInput {
    /// The last text of the user, without its markers.
    pub(crate) text: String,
    /// Results of tools since the last answer.
    pub(crate) results: Vec<String>,
    /// Images since the last answer, e.g. `image/png 12x7`.
    pub(crate) images: Vec<String>,
    /// The answer continues a text of the request.
    pub(crate) continues: bool,
    /// The text that the request says the answer is to begin with.
    pub(crate) begins_with: String,
    /// Names of the tools that were called since the user's last words.
    pub(crate) called: Vec<String>,
    /// Messages of the user, the last one included.
    pub(crate) turns: usize,
    /// The exact number of words, where a marker asks for it.
    pub(crate) words: Option<u64>,
}

/// What begins and ends a text that a client's program put among the user's.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");

/// Before the text that an answer is to begin with, up to the end of a line.
const BEGIN: &str = "Begin your reply with exactly this text";

/// The text that a reminder says the answer is to begin with; empty without one.
pub(crate) fn told_beginning(text: &str) -> String {
    let after = text.rsplit_once(BEGIN).and_then(|(_, after)| after.split_once('\n'));
    after
        .map_or("", |(_, told)| told.split(REMINDER.1).next().unwrap_or_default().trim_end_matches('\n'))
        .to_owned()
}

/// The user's own words in a text.
pub(crate) fn own_words(text: &str) -> String {
    let (mut own, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(REMINDER.0) {
        own.push_str(before);
        rest = after.split_once(REMINDER.1).map_or("", |(_, after)| after);
    }
    own + rest
}

/// Writes the text.
pub(crate) fn write(input: &AnswerInput, seed: &mut Seed) -> String {
    let mut parts = Vec::new();
    if input.continues || !input.begins_with.is_empty() {
        parts.push(format!("{} and so it goes on:", input.begins_with));
    }
    for image in &input.images {
        parts.push(format!("saw {image}"));
    }
    for result in &input.results {
        parts.push(format!("the tool said: {}", words::first(result, 12).0));
    }
    if !input.text.trim().is_empty() {
        parts.push(format!("you wrote: {}", words::first(input.text.trim(), 24).0));
    }
    if input.turns > 1 {
        parts.push(format!("(turn {})", input.turns));
    }
    let more = 6 + u64::try_from(seed.below(14)).unwrap_or(0);
    parts.push(words::prose(seed, more));
    let text = parts.join(" ");
    match input.words {
        None => text,
        Some(wanted) => match wanted.checked_sub(words::count(&text)) {
            Some(0) => text,
            Some(missing) => format!("{text} {}", words::prose(seed, missing)),
            None => words::first(&text, wanted).0.to_owned(),
        },
    }
}

/// The earliest of `stops`: its position and its text.
pub(crate) fn stopped<'a>(text: &str, stops: &'a [String]) -> Option<(usize, &'a str)> {
    let found = stops.iter().filter_map(|stop| Some((text.find(stop)?, stop.as_str())));
    found.min_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_begins_as_it_is_told() {
        let told = "<system-reminder>\nBegin your reply with exactly this text, please:\n{\"a\":\n</system-reminder>";
        assert_eq!((told_beginning(told).as_str(), told_beginning("a kite").as_str()), ("{\"a\":", ""));
        let input = AnswerInput { begins_with: told_beginning(told), ..AnswerInput::default() };
        assert!(write(&input, &mut Seed::of(b"one")).starts_with("{\"a\": and so it goes on:"));
    }

    #[test]
    fn reminders_are_not_the_users_words() {
        for (text, own) in [
            ("a kite", "a kite"),
            ("<system-reminder>\nx\n</system-reminder>\na kite", "\na kite"),
            ("a <system-reminder>x</system-reminder>kite<system-reminder>y", "a kite"),
            ("", ""),
        ] {
            assert_eq!(own_words(text), own, "{text}");
        }
    }
}
