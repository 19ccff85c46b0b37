//! The tokens of a text and their log probabilities, for requests with `logprobs`.
//!
//! Drawn from the text alone, so that the same text has the same tokens, whole and streamed. The tokens together are the text;
//! the probabilities of one position add up to less than 1, and the written token is the likeliest of them.

use serde_json::{Value, json};

use crate::text::answer::seed::Seed;
use crate::text::answer::words;

/// Probabilities are drawn in so many steps from one half up.
const STEPS: usize = 4096;

/// A token of a text.
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    /// Its entry in `logprobs.content` or `logprobs.refusal`.
    pub(super) entry: Value,
}

/// The tokens of a text, each with its `top` likeliest alternatives, itself among them.
pub(super) fn tokens(text: &str, top: usize) -> Vec<Token<'_>> {
    let mut seed = Seed::of(text.as_bytes());
    let texts = words::pieces(&mut seed, text);
    texts.into_iter().map(|text| Token { text, entry: entry(&mut seed, text, top) }).collect()
}

/// `logprobs` of a choice or a chunk: the entries of the member that its text has.
pub(super) fn of(field: &str, entries: Vec<Value>) -> Value {
    let mut logprobs = json!({ "content": null, "refusal": null });
    logprobs[field] = entries.into();
    logprobs
}

fn entry(seed: &mut Seed, token: &str, top: usize) -> Value {
    let step = u32::try_from(seed.below(STEPS)).unwrap_or_default();
    let written = 0.5 + f64::from(step) / f64::from(u32::try_from(2 * STEPS).unwrap_or(u32::MAX));
    let mut rest = 1.0 - written;
    let mut likeliest = vec![judged(token, written)];
    for _ in 1..top {
        rest /= 2.0;
        likeliest.push(judged(&format!("{} ", seed.id(4)), rest));
    }
    likeliest.truncate(top);
    let mut entry = judged(token, written);
    entry["top_logprobs"] = likeliest.into();
    entry
}

fn judged(token: &str, probability: f64) -> Value {
    json!({ "token": token, "logprob": probability.ln(), "bytes": token.as_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_make_the_text_and_their_probabilities_are_possible() {
        let text = "saw caf\u{e9} \u{1f30a} and \u{1f469}\u{200d}\u{1f680} quietly, \"drift\" and more";
        for top in [0, 1, 2, 20] {
            let tokens = tokens(text, top);
            assert_eq!(tokens.iter().map(|token| token.text).collect::<String>(), text);
            for Token { text, entry } in &tokens {
                assert_eq!((&entry["token"], &entry["bytes"]), (&json!(text), &json!(text.as_bytes())));
                let likeliest = entry["top_logprobs"].as_array().expect("a list");
                assert_eq!(likeliest.len(), top);
                let logprobs: Vec<f64> =
                    likeliest.iter().map(|one| one["logprob"].as_f64().expect("a number")).collect();
                assert!(logprobs.is_sorted_by(|one, next| one > next), "{logprobs:?}");
                assert!(logprobs.iter().map(|logprob| logprob.exp()).sum::<f64>() < 1.0, "{logprobs:?}");
                assert!(likeliest.first().is_none_or(|one| one["logprob"] == entry["logprob"]), "{entry}");
                assert!(entry["logprob"].as_f64().is_some_and(|logprob| logprob < 0.0), "{entry}");
            }
        }
    }
}
