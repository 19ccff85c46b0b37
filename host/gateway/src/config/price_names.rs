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
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use gatehouse_model::{Context, Parent, SelfTest, Submission, UnixMs, Verdict};
    use gatehouse_runtime::ComponentRunner;
    use gatehouse_schema::{Kind, Reader};
    use serde_json::{Value, json};

    use super::*;
    use crate::plugins::built_in::{LOADED, PLUGINS};

    /// The fields that have few values, each with one of them.
    fn choices(kind: Kind) -> Vec<(String, Value)> {
        let values = |kind: Kind| match kind {
            Kind::Boolean => vec![json!(true), json!(false)],
            Kind::Choice(choices) => choices.into_iter().map(|choice| choice.value).collect(),
            _ => vec![],
        };
        match kind {
            Kind::Object(fields) => {
                let each = fields.into_iter().map(|field| (field.name, values(field.kind)));
                each.flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
                    .collect()
            }
            // Each model of the surface has its own.
            Kind::Variants(forms) => forms.into_iter().flat_map(|form| choices(form.kind)).collect(),
            _ => vec![],
        }
    }

    /// A request that is accepted, with each value of each such field, alone and beside each model and each switch that is on.
    fn variants(body: &str, choices: &[(String, Value)]) -> Vec<Value> {
        let body: Value = serde_json::from_str(body).unwrap();
        let with = |body: &Value, (name, value): &(String, Value)| {
            let mut body = body.clone();
            body[name] = value.clone();
            body
        };
        let is_switch = |(name, value): &&(String, Value)| *value == true || name == "model";
        let switches: Vec<_> = choices.iter().filter(is_switch).collect();
        let mut all = vec![body.clone()];
        for choice in choices {
            let one = with(&body, choice);
            all.extend(switches.iter().map(|switch| with(&one, switch)));
            all.push(one);
        }
        all
    }

    /// The price keys that a family asks for.
    fn asked(runner: &ComponentRunner) -> BTreeSet<String> {
        let about = runner.about();
        let now = UnixMs(1_767_225_600_000);
        let deadline = UnixMs(now.0 + 1_800_000);
        let settings = runner.settings();
        let cx = Context {
            now,
            seed: 7,
            task: None,
            accepted_at: now,
            deadline,
            customer: String::new(),
            settings,
        };
        let mut keys = BTreeSet::new();
        let of = |test: &&SelfTest| about.offers.jobs && test.expect == Verdict::Accepted;
        for test in about.self_tests.iter().filter(of) {
            let surface = about.surfaces.iter().find(|surface| surface.name == test.surface).unwrap();
            let schema = serde_json::from_str(&surface.schema).unwrap();
            for body in variants(&test.body, &choices(Reader::new(&schema).kind(&schema))) {
                let route = about.all_routes().into_iter().find(|route| route.surface == test.surface);
                let named = body["model"].as_str().map(str::to_owned).or_else(|| route?.model);
                let Some(model) = about.model_name(&test.surface, named.as_deref()) else { continue };
                let submission = Submission {
                    surface: test.surface.clone(),
                    model,
                    body: body.to_string().into(),
                    parents: test.parents.iter().cloned().map(|it| Parent::try_from(it).unwrap()).collect(),
                    owned: vec![],
                    blobs: vec![],
                };
                let answer = runner.submit(cx.clone(), submission).unwrap();
                keys.extend(answer.into_iter().flat_map(|it| it.charge.0).flat_map(|line| line.keys));
            }
        }
        keys
    }

    /// Without it a family has a price of its own for a value, and the table calls that price one that nothing costs.
    #[test]
    fn the_table_has_what_the_families_ask_for() {
        let keys: BTreeSet<String> = LOADED.iter().flat_map(asked).collect();
        for key in &keys {
            assert!(PLACES.iter().any(|(name, _)| *name == base(key)), "{key} is of nothing that is known");
            assert_eq!(problem(key), None, "{key}");
        }
        let parts: BTreeSet<(&str, &str)> = keys
            .iter()
            .flat_map(|key| {
                let (name, parts) = key.split_once('@').unwrap_or((key.as_str(), ""));
                parts.split('-').map(move |part| (name, part))
            })
            .collect();
        // Journey's words are those of its actions and versions, below.
        for (name, places) in PLACES.into_iter().filter(|(name, _)| *name != "journey") {
            let words = places.iter().copied().flatten();
            let unheard: Vec<_> = words.filter(|word| !parts.contains(&(name, **word))).collect();
            assert!(unheard.is_empty(), "{name} asks for no price of {unheard:?}: {keys:?}");
        }
    }

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
        let journey = LOADED.iter().find(|runner| runner.about().family == "journey").unwrap();
        let surfaces = journey.about().surfaces.iter();
        let actions: Vec<&str> =
            surfaces.filter_map(|surface| surface.name.strip_prefix("journey.")).collect();
        assert_eq!(actions, JOURNEY[0]);
        let versions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/journey/src/version.rs");
        let names = fs::read_to_string(versions).unwrap();
        let names = names.split_once("pub(crate) fn name(self)").unwrap().1;
        let names = names.split_once("\n    }\n").unwrap().0;
        let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
        assert_eq!(names, JOURNEY[1][..8]);
    }
}
