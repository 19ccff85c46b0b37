//! The parts of price keys behind `@` that built-in families ask for. A price under any other is one that nothing ever costs.

use gatehouse_admin::nearest;

use super::ownership::base;

/// What stands behind `@`, with `-` between: a word of each place in turn. All places but the first may be left out.
type Places = &'static [&'static [&'static str]];

/// By what prices are of.
const PLACES: [(&str, Places); 12] = [
    ("clip-2.0", &[&["480p", "720p", "1080p", "4k"]]),
    ("clip-2.0-fast", &[&["480p", "720p"]]),
    ("clip-2.0-mini", &[&["480p", "720p"]]),
    ("clip-avatar", &[]),
    ("ctx-max", &[]),
    ("ctx-pro", &[]),
    ("imagine-1.5-gw", &[]),
    ("journey", JOURNEY),
    ("motion-2.6", &[&["720p", "1080p"]]),
    ("motion-2.7", &[&["720p", "1080p"]]),
    ("scene-3.1-fast-official", SCENE),
    ("scene-3.1-quality-official", SCENE),
];

const SCENE: Places = &[&["720p", "1080p", "4k"], &["audio"]];
const JOURNEY: Places = &[
    &[
        "imagine",
        "blend",
        "describe",
        "edits",
        "upscale",
        "variation",
        "high_variation",
        "low_variation",
        "reroll",
        "zoom",
        "pan",
        "inpaint",
        "modal",
        "video",
        "remix_strong",
        "remix_subtle",
    ],
    &["v8.2", "v8.1", "v7", "v6.1", "v5.2", "v5.1", "niji7", "niji6", "720p"],
    &["fast", "turbo"],
];

/// Why no charge ever names a key, and after a semicolon the remedy. What no built-in family asks for is not judged.
pub(super) fn problem(key: &str) -> Option<String> {
    let (_, places) = PLACES.iter().find(|(name, _)| *name == base(key))?;
    let parts: Vec<&str> = key.split_once('@')?.1.split('-').collect();
    let wrong = first_wrong(&parts, places)?;
    let known: Vec<&str> = places.iter().copied().flatten().copied().collect();
    let remedy = match nearest(wrong, known.iter().copied().filter(|word| *word != wrong)) {
        _ if known.is_empty() => format!("it has one price, `{}`", base(key)),
        Some(near) if !known.contains(&wrong) => format!("did you mean `{near}`?"),
        _ => {
            let order: Vec<String> = places.iter().map(|place| place.join(", ")).collect();
            format!("known there, in this order: {}", order.join("; then "))
        }
    };
    Some(format!("nothing costs it: `{wrong}` is no part of its price keys at that place; {remedy}"))
}

fn first_wrong<'a>(parts: &[&'a str], places: Places) -> Option<&'a str> {
    let mut left = places.iter();
    let mut is_there = |at: usize, part: &&str| match at {
        0 => left.next().is_some_and(|place| place.contains(part)),
        _ => left.any(|place| place.contains(part)),
    };
    parts.iter().enumerate().find(|(at, part)| !is_there(*at, part)).map(|(_, part)| *part)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::plugins::built_in::PLUGINS;

    /// Without it a price is set and never charged, and the dearer job is had at the plain price.
    #[test]
    fn a_part_that_no_charge_has_is_told() {
        for (key, expected) in [
            ("clip-2.0", None),
            ("clip-2.0@1080p", None),
            ("scene-3.1-fast-official@4k-audio", None),
            ("journey@imagine-v7-turbo", None),
            ("journey@imagine-turbo", None),
            ("journey@video-720p", None),
            ("unheard@x", None),
            ("clip-2.0@1080", Some("did you mean `1080p`?")),
            ("clip-2.0-fast@4k", Some("known there, in this order: 480p, 720p")),
            (
                "scene-3.1-fast-official@4k-sound",
                Some("known there, in this order: 720p, 1080p, 4k; then audio"),
            ),
            ("scene-3.1-fast-official@audio", Some("`audio` is no part of its price keys at that place")),
            ("scene-3.1-fast-official@audio-4k", Some("`audio` is no part")),
            ("journey@turbo", Some("`turbo` is no part")),
            ("journey@imagine-turbo-v7", Some("`v7` is no part")),
            ("journey@imagin", Some("did you mean `imagine`?")),
            ("journey@", Some("`` is no part")),
            ("ctx-pro@hd", Some("it has one price, `ctx-pro`")),
        ] {
            let found = problem(key);
            let fits = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(fits, "{key}: {found:?}");
        }
    }

    /// The table says what the families have, and every price that they bring is in it.
    #[test]
    fn every_price_of_a_built_in_family_is_known() {
        for plugin in PLUGINS {
            let table: toml::Table = plugin.family_toml.parse().unwrap();
            let prices = table.get("prices").and_then(toml::Value::as_table).into_iter().flatten();
            for (key, _) in prices {
                assert!(PLACES.iter().any(|(name, _)| *name == base(key)), "{key}");
                assert_eq!(problem(key), None, "{key}");
            }
        }
        let journey = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/journey/src");
        let read = |file| fs::read_to_string(journey.join(file)).unwrap();
        for (file, words) in [("action.rs", JOURNEY[0]), ("version.rs", &JOURNEY[1][..8])] {
            let names = read(file).split_once("pub(crate) fn name(self)").unwrap().1.to_owned();
            let names = names.split_once("\n    }\n").unwrap().0.to_owned();
            let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
            assert_eq!(names, words, "{file}");
        }
    }
}
