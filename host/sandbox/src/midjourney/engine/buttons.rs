//! Buttons: which ones a result has, by its kind and version, and what pressing one does.

use serde_json::{Value, json};

use super::version::Version;

/// What a task's result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Four pictures.
    Grid,
    /// One picture.
    Single,
    /// One picture of twice the size.
    LargeSingle,
    /// Four texts.
    Texts,
    /// As many films as were asked for.
    Films(usize),
    /// One film, chosen from several.
    Film,
}

/// What a press does. Tiles, texts and films count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// One tile as a single.
    Upscale(usize),
    /// A single of twice the size.
    UpscaleLarge,
    /// A grid like that tile.
    Vary(usize),
    /// A new grid from the same prompt.
    Reroll,
    /// Waits for a modal, then a grid.
    Inpaint,
    /// Waits for a modal, then a grid.
    CustomZoom,
    Zoom,
    Pan {
        sideways: bool,
    },
    Remix(usize),
    Animate,
    /// One film of several.
    ChooseFilm(usize),
    ExtendFilm,
    /// Waits for a modal, then imagines that text.
    Imagine(usize),
    Bookmark,
}

/// Custom id, emoji, label, effect.
type Button = (String, &'static str, String, Effect);

/// The buttons of a finished task, in the provider's order.
fn buttons(kind: Kind, version: Version, hash: &str) -> Vec<Button> {
    let mut all: Vec<Button> = Vec::new();
    let mut add = |id: String, emoji, label: &str, effect| all.push((id, emoji, label.to_owned(), effect));
    let remixes = [(8, 1), (8, 2)].contains(&version.number);
    match kind {
        Kind::Grid => {
            for tile in 1..=4 {
                let label = format!("U{tile}");
                add(format!("MJ::JOB::upsample::{tile}::{hash}"), "", &label, Effect::Upscale(tile));
            }
            add(format!("MJ::JOB::reroll::0::{hash}::SOLO"), "🔄", "", Effect::Reroll);
            for tile in 1..=4 {
                let label = format!("V{tile}");
                add(format!("MJ::JOB::variation::{tile}::{hash}"), "", &label, Effect::Vary(tile));
            }
            for tile in (1..=4).filter(|_| remixes) {
                for strength in ["strong", "subtle"] {
                    let id = format!("MJ::JOB::remix_{strength}::{tile}::{hash}");
                    add(id, "", &format!("Remix {strength} {tile}"), Effect::Remix(tile));
                }
            }
        }
        Kind::Single => {
            for (job, label) in large_upscales(version) {
                add(format!("MJ::JOB::{job}::1::{hash}::SOLO"), "upscale_1", label, Effect::UpscaleLarge);
            }
            add(format!("MJ::JOB::low_variation::1::{hash}::SOLO"), "🪄", "Vary (Subtle)", Effect::Vary(1));
            add(format!("MJ::JOB::high_variation::1::{hash}::SOLO"), "🪄", "Vary (Strong)", Effect::Vary(1));
            if version.number >= (5, 0) {
                add(format!("MJ::Inpaint::1::{hash}::SOLO"), "🖌️", "Vary (Region)", Effect::Inpaint);
            }
            if ((5, 0)..(8, 0)).contains(&version.number) {
                add(format!("MJ::Outpaint::50::1::{hash}::SOLO"), "🔍", "Zoom Out 2x", Effect::Zoom);
                add(format!("MJ::Outpaint::75::1::{hash}::SOLO"), "🔍", "Zoom Out 1.5x", Effect::Zoom);
                add(format!("MJ::CustomZoom::1::{hash}"), "🔍", "Custom Zoom", Effect::CustomZoom);
                for (direction, emoji) in [("left", "⬅️"), ("right", "➡️"), ("up", "⬆️"), ("down", "⬇️")]
                {
                    let sideways = ["left", "right"].contains(&direction);
                    add(
                        format!("MJ::JOB::pan_{direction}::1::{hash}::SOLO"),
                        emoji,
                        "",
                        Effect::Pan { sideways },
                    );
                }
            }
            for strength in ["strong", "subtle"].iter().filter(|_| remixes) {
                let id = format!("MJ::JOB::remix_{strength}::1::{hash}");
                add(id, "", &format!("Remix {strength}"), Effect::Remix(1));
            }
            for (motion, label) in [("high", "Animate (High motion)"), ("low", "Animate (Low motion)")] {
                add(format!("MJ::JOB::animate_{motion}::1::{hash}::SOLO"), "🎞️", label, Effect::Animate);
            }
        }
        Kind::LargeSingle => {}
        Kind::Texts => {
            for text in 1..=4 {
                let emoji = super::prompt::KEYCAPS[text - 1];
                add(format!("MJ::Job::PicReader::{text}"), emoji, "", Effect::Imagine(text));
            }
        }
        Kind::Films(count) => {
            for film in 1..=count {
                let id = format!("MJ::JOB::video_virtual_upscale::{film}::{hash}");
                add(id, "", &format!("U{film}"), Effect::ChooseFilm(film));
            }
        }
        Kind::Film => {
            for (motion, label) in [("high", "Extend (High motion)"), ("low", "Extend (Low motion)")] {
                let id = format!("MJ::JOB::animate_{motion}_extend::1::{hash}");
                add(id, "🎞️", label, Effect::ExtendFilm);
            }
        }
    }
    if kind != Kind::Texts {
        add(format!("MJ::BOOKMARK::{hash}"), "❤️", "", Effect::Bookmark);
    }
    all
}

fn large_upscales(version: Version) -> &'static [(&'static str, &'static str)] {
    match version.number {
        (7, _) => &[
            ("upsample_v7_2x_subtle", "Upscale (Subtle)"),
            ("upsample_v7_2x_creative", "Upscale (Creative)"),
        ],
        (6, 1) => &[
            ("upsample_v6r1_2x_subtle", "Upscale (Subtle)"),
            ("upsample_v6r1_2x_creative", "Upscale (Creative)"),
        ],
        (6, _) => &[
            ("upsample_v6_2x_subtle", "Upscale (Subtle)"),
            ("upsample_v6_2x_creative", "Upscale (Creative)"),
        ],
        (5, _) => &[("upsample_v5_2x", "Upscale (2x)"), ("upsample_v5_4x", "Upscale (4x)")],
        _ => &[],
    }
}

/// The buttons as the proxy writes them.
pub(crate) fn shown(kind: Kind, version: Version, hash: &str) -> Value {
    let shown = |(id, emoji, label, _): Button| json!({ "customId": id, "emoji": emoji, "label": label, "type": 2, "style": 2 });
    buttons(kind, version, hash).into_iter().map(shown).collect()
}

/// What pressing that button does, if the task has it.
pub(crate) fn effect(kind: Kind, version: Version, hash: &str, custom_id: &str) -> Option<Effect> {
    let mut all = buttons(kind, version, hash).into_iter();
    all.find(|(id, ..)| id == custom_id).map(|(.., effect)| effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(kind: Kind, number: (u8, u8)) -> Vec<String> {
        let version = Version { niji: false, number };
        let all = buttons(kind, version, "h").into_iter().map(|(id, ..)| id).collect::<Vec<_>>();
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        for id in &all {
            assert!(
                effect(kind, version, "h", id).is_some() && effect(kind, version, "g", id).is_none()
                    || kind == Kind::Texts
            );
        }
        all
    }

    #[test]
    fn versions_have_their_buttons() {
        let has = |kind, number, part: &str| ids(kind, number).iter().any(|id| id.contains(part));
        #[rustfmt::skip]
        let table = [
            ("MJ::Outpaint::50", [false, true, true, true, true, false, false]),
            ("MJ::CustomZoom", [false, true, true, true, true, false, false]),
            ("pan_left", [false, true, true, true, true, false, false]),
            ("MJ::Inpaint", [false, true, true, true, true, true, true]),
            ("upsample_v", [false, true, true, true, true, false, false]),
            ("remix_strong", [false, false, false, false, false, true, true]),
            ("low_variation", [true, true, true, true, true, true, true]),
        ];
        let versions = [(4, 0), (5, 2), (6, 0), (6, 1), (7, 0), (8, 1), (8, 2)];
        for (part, expected) in table {
            assert_eq!(versions.map(|number| has(Kind::Single, number, part)), expected, "{part}");
        }
        assert!(has(Kind::Grid, (8, 1), "remix_subtle::4") && !has(Kind::Grid, (7, 0), "remix"));
    }

    #[test]
    fn a_grids_buttons_are_in_the_providers_order() {
        let shown = shown(Kind::Grid, Version::USUAL, "h");
        let labels: Vec<_> =
            shown.as_array().expect("a list").iter().filter_map(|it| it["label"].as_str()).collect();
        assert_eq!(labels, ["U1", "U2", "U3", "U4", "", "V1", "V2", "V3", "V4", ""]);
        assert_eq!(shown[4]["customId"], "MJ::JOB::reroll::0::h::SOLO");
        assert_eq!(ids(Kind::Films(2), (7, 0)).len(), 3);
    }
}
