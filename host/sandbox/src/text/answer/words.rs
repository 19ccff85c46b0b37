//! Words: they count as tokens, and answers are made of a fixed stock of them.

use super::seed::Seed;

/// Of one to eleven bytes a character, right to left, joined emoji and combining marks among them.
#[rustfmt::skip]
const STOCK: &[&str] = &[
    "lighthouse", "tide", "caf\u{e9}", "na\u{ef}ve", "\u{706f}\u{53f0}", "\u{43c}\u{43e}\u{440}\u{435}",
    "\u{1f30a}", "\u{1f469}\u{200d}\u{1f680}", "jalapen\u{303}o",
    "\u{3b8}\u{3ac}\u{3bb}\u{3b1}\u{3c3}\u{3c3}\u{3b1}", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "harbour",
    "\u{1f1f5}\u{1f1f9}", "quietly", "\u{2014}", "\"drift\"", "back\\slash", "keel", "\u{c548}\u{b155}", "ebb,",
];

/// How many tokens a text is.
pub(crate) fn count(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// The text up to the end of its `limit`th word, and whether that is all of it.
pub(crate) fn first(text: &str, limit: u64) -> (&str, bool) {
    let (mut count, mut inside) = (0, false);
    for (at, letter) in text.char_indices() {
        let space = letter.is_whitespace();
        if !space && !inside {
            if count == limit {
                return (text[..at].trim_end(), false);
            }
            count += 1;
        }
        inside = !space;
    }
    (text, true)
}

/// So many words of the stock.
pub(crate) fn prose(seed: &mut Seed, words: u64) -> String {
    let drawn: Vec<&str> = (0..words).map(|_| *seed.pick(STOCK)).collect();
    drawn.join(" ")
}

/// A text in the pieces a model gives it out in: cut between characters, not between graphemes or words.
pub(crate) fn pieces<'a>(seed: &mut Seed, text: &'a str) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let wanted = 1 + seed.below(16);
        let end = rest.char_indices().nth(wanted).map_or(rest.len(), |(at, _)| at);
        let (piece, left) = rest.split_at(end);
        pieces.push(piece);
        rest = left;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_words() {
        #[rustfmt::skip]
        let table = [
            ("", 0, ("", true)), ("  ", 0, ("  ", true)), ("a b c", 0, ("", false)), ("a b c", 2, ("a b", false)),
            ("a  b\n", 2, ("a  b\n", true)), (" a b c", 3, (" a b c", true)),
        ];
        for (text, limit, expected) in table {
            assert_eq!(first(text, limit), expected, "{text:?} {limit}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_the_whole(text in "\\PC{0,60}", number in any::<u64>()) {
            let mut seed = Seed::of(&number.to_le_bytes());
            let pieces = pieces(&mut seed, &text);
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
            prop_assert_eq!(pieces.concat(), text);
        }

        #[test]
        fn first_has_no_more_than_asked(text in "[a-z \\n]{0,60}", limit in 0..20_u64) {
            let (cut, all) = first(&text, limit);
            prop_assert_eq!(count(cut), limit.min(count(&text)));
            prop_assert_eq!(all, count(&text) <= limit);
        }

        #[test]
        fn prose_is_as_long_as_asked(words in 0..200_u64, number in any::<u64>()) {
            prop_assert_eq!(count(&prose(&mut Seed::of(&number.to_le_bytes()), words)), words);
        }
    }
}
