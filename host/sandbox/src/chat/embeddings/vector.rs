//! The vector of a text: each of its words has a direction of its own, and the text has that of their sum.

use std::collections::BTreeMap;

use crate::text::answer::seed::Seed;

/// Of unit length, shortened to the first `dimensions` of `full`.
pub(super) fn of(words: &[String], full: usize, dimensions: usize) -> Vec<f32> {
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for word in words {
        let bare: String =
            word.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        *counts.entry(if bare.is_empty() { word.clone() } else { bare }).or_default() += 1.0;
    }
    let mut sum = vec![0.0_f64; full];
    for (word, count) in &counts {
        let mut seed = Seed::of(word.as_bytes());
        // A word that comes again says less each time.
        let weight = count.sqrt();
        for part in &mut sum {
            *part += weight * direction(&mut seed);
        }
    }
    sum.truncate(dimensions);
    let length = sum.iter().map(|part| part * part).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    sum.iter().map(|part| (part / length) as f32).collect()
}

/// From -1 to 1.
fn direction(seed: &mut Seed) -> f64 {
    const STEPS: usize = 1 << 20;
    seed.below(STEPS) as f64 / (STEPS as f64 / 2.0) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(text: &str) -> Vec<f32> {
        of(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), 256, 256)
    }

    fn nearness(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(one, other)| one * other).sum()
    }

    #[test]
    fn texts_that_share_words_are_nearer() {
        let kite = vector("A red kite over the lighthouse.");
        assert!((nearness(&kite, &kite) - 1.0).abs() < 1e-5);
        let near = nearness(&kite, &vector("the kite, over a lighthouse"));
        let far = nearness(&kite, &vector("quarterly results of mining companies"));
        assert!(near > 0.7 && far < 0.3, "{near} {far}");
    }

    #[test]
    fn a_shorter_vector_is_a_part_of_unit_length() {
        let words = ["kite".to_owned()];
        let (long, short) = (of(&words, 256, 256), of(&words, 256, 8));
        assert!((nearness(&short, &short) - 1.0).abs() < 1e-5 && short.len() == 8);
        assert!((short[0] / short[1] - long[0] / long[1]).abs() < 1e-3);
    }
}
