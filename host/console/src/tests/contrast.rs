//! The contrast of every pair of colours that stand on each other, computed from the style itself (WCAG 2.2, 1.4.3 and
//! 1.4.11).

use std::collections::BTreeMap;

use crate::assets::ASSETS;

/// Text on a ground, and the least contrast of the two.
const PAIRS: &[(&str, &str, f64)] = &[
    ("text", "bg", 7.0),
    ("text", "surface", 7.0),
    ("text", "neutral-bg", 7.0),
    ("muted", "bg", 4.5),
    ("muted", "surface", 4.5),
    ("muted", "neutral-bg", 4.5),
    ("border", "surface", 3.0),
    ("accent", "bg", 4.5),
    ("accent", "surface", 4.5),
    ("on-accent", "accent", 4.5),
    ("ok", "ok-bg", 4.5),
    ("warn", "warn-bg", 4.5),
    ("error", "error-bg", 4.5),
    ("error", "surface", 4.5),
    ("info", "info-bg", 4.5),
    ("series-1", "surface", 3.0),
    ("series-2", "surface", 3.0),
    ("series-3", "surface", 3.0),
    ("series-4", "surface", 3.0),
    ("series-5", "surface", 3.0),
];

/// Both colours of every token: light, dark.
fn tokens() -> BTreeMap<String, [[u8; 3]; 2]> {
    let style = ASSETS.iter().find(|asset| asset.name == "console.css").unwrap();
    let text = std::str::from_utf8(style.bytes).unwrap();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": light-dark("));
    let pairs = lines.map(|(name, values)| {
        let (light, dark) = values.trim_end_matches(");").split_once(", ").unwrap();
        (name.to_owned(), [colour(light), colour(dark)])
    });
    pairs.collect()
}

fn colour(text: &str) -> [u8; 3] {
    let value = u32::from_str_radix(text.trim_start_matches('#'), 16).unwrap();
    let [_, red, green, blue] = value.to_be_bytes();
    [red, green, blue]
}

/// Relative luminance.
fn luminance(colour: [u8; 3]) -> f64 {
    let linear = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn every_pair_is_readable_in_both_themes() {
    let tokens = tokens();
    for (front, ground, least) in PAIRS {
        for (theme, at) in [("light", 0), ("dark", 1)] {
            let found = contrast(tokens[*front][at], tokens[*ground][at]);
            assert!(found >= *least, "{front} on {ground}, {theme}: {found:.2}, at least {least}");
        }
    }
}

#[test]
fn the_formula_is_the_standards() {
    assert!((contrast([0, 0, 0], [255, 255, 255]) - 21.0).abs() < 0.01);
    assert!((contrast([0x77, 0x77, 0x77], [255, 255, 255]) - 4.48).abs() < 0.01);
}
