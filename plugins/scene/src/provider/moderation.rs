//! What the provider's filters say: texts with "Support codes: N", each code one of a group (reference 3.4).

/// The groups, as clients read them.
const GROUPS: &[(&str, &[u32])] = &[
    ("a child", &[58_061_214, 17_301_594]),
    ("a well-known person", &[29_310_472, 15_236_754]),
    ("safety of the video", &[64_151_117, 42_237_218]),
    ("dangerous content", &[62_263_041]),
    ("hate", &[57_734_940, 22_137_204]),
    ("prohibited content", &[89_371_032, 49_114_662, 63_429_089, 72_817_394, 60_599_140]),
    ("content of third parties", &[35_561_574, 35_561_575]),
    ("sexual content", &[90_789_179, 43_188_360]),
    ("toxic content", &[78_610_348]),
    ("violence", &[61_493_863, 56_562_880]),
    ("vulgar content", &[32_635_315]),
];

/// Whether a text is a filter's.
pub(super) fn is_by_filter(text: &str) -> bool {
    text.to_ascii_lowercase().contains("support code")
}

/// What a client reads of the filters' texts. Codes of no known group say nothing more.
pub(super) fn explanation<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut found: Vec<&str> = Vec::new();
    for text in texts {
        for number in text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok())
        {
            let group = GROUPS.iter().find(|(_, codes)| codes.contains(&number)).map(|(group, _)| *group);
            found.extend(group.filter(|group| !found.contains(group)));
        }
    }
    let begin = "the request or the generated video was stopped by content moderation";
    if found.is_empty() { begin.to_owned() } else { format!("{begin}: {}", found.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_explained() {
        for (texts, expected) in [
            (&["blocked. Support codes: 61493863"][..], ": violence"),
            (
                &["Support codes: 58061214, 15236754", "Support codes: 17301594"],
                ": a child, a well-known person",
            ),
            (&["Support codes: 74803281"], ""),
            (&["no code"], ""),
            (&[], ""),
        ] {
            let begin = "the request or the generated video was stopped by content moderation";
            assert_eq!(explanation(texts.iter().copied()), format!("{begin}{expected}"), "{texts:?}");
        }
    }
}
