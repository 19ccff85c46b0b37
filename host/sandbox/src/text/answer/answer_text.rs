//! What a simulated model says: something that shows what it was given, then words of the stock.

use super::seed::Seed;
use super::words;

/// What there is to speak of.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerInput {
    /// The last thing the user wrote, without its markers.
    pub(crate) text: String,
    /// Results of tools in the last turn.
    pub(crate) results: Vec<String>,
    /// Images of the last turn, e.g. `image/png 12x7`.
    pub(crate) images: Vec<String>,
    /// The answer continues words that stand already.
    pub(crate) continues: bool,
    /// Questions so far, this one included.
    pub(crate) turns: usize,
    /// Exactly so many words.
    pub(crate) words: Option<u64>,
}

/// The whole answer.
pub(crate) fn speak(asked: &AnswerInput, seed: &mut Seed) -> String {
    let mut parts = Vec::new();
    if asked.continues {
        parts.push(" and so it goes on:".to_owned());
    }
    for image in &asked.images {
        parts.push(format!("saw {image}"));
    }
    for result in &asked.results {
        parts.push(format!("the tool said: {}", words::first(result, 12).0));
    }
    if !asked.text.trim().is_empty() {
        parts.push(format!("you wrote: {}", words::first(asked.text.trim(), 24).0));
    }
    if asked.turns > 1 {
        parts.push(format!("(turn {})", asked.turns));
    }
    let more = 6 + u64::try_from(seed.below(14)).unwrap_or(0);
    parts.push(words::prose(seed, more));
    let text = parts.join(" ");
    match asked.words {
        None => text,
        Some(wanted) => match wanted.checked_sub(words::count(&text)) {
            Some(0) => text,
            Some(missing) => format!("{text} {}", words::prose(seed, missing)),
            None => words::first(&text, wanted).0.to_owned(),
        },
    }
}

/// Where the earliest of `stops` begins, and which it is.
pub(crate) fn stopped<'a>(text: &str, stops: &[&'a str]) -> Option<(usize, &'a str)> {
    stops.iter().filter_map(|stop| Some((text.find(stop)?, *stop))).min_by_key(|(at, _)| *at)
}
