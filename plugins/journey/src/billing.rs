//! Price keys (spec, "Journey request shapes"): `journey@<action>-<version>-<speed>`, then without the speed, then
//! without the version, then `journey@<action>`, then `journey`. `relax` adds no suffix. A film in 720p has the key
//! `journey@video-720p` before all of them, and costs as often as there are films.

use gatehouse_sdk::Charge;

use crate::action::{Action, Speed};
use crate::version::Version;

/// The family's only model, and the least specific price key.
pub(crate) const MODEL: &str = "journey";

/// The charge of one job.
pub(crate) fn charge(action: Action, version: Option<Version>, speed: Speed) -> Charge {
    Charge::keys(keys(action, version, speed))
}

/// The charge of `films` films. Films are made by a version of their own and at no speed, but a price of the parent's
/// version holds for them as for every action.
pub(crate) fn films(version: Option<Version>, is_720p: bool, films: u32) -> Charge {
    let mut all = keys(Action::Video, version, Speed::Relax);
    if is_720p {
        all.insert(0, format!("{MODEL}@{}-720p", Action::Video));
    }
    Charge::keys(all).times(films.into())
}

fn keys(action: Action, version: Option<Version>, speed: Speed) -> Vec<String> {
    let base = format!("{MODEL}@{action}");
    let version = version.map(|version| format!("-{}", version.name()));
    let speed = (speed != Speed::Relax).then(|| format!("-{}", speed.name()));
    let mut keys = Vec::with_capacity(5);
    if let (Some(version), Some(speed)) = (&version, &speed) {
        keys.push(format!("{base}{version}{speed}"));
    }
    keys.extend([version, speed].into_iter().flatten().map(|suffix| format!("{base}{suffix}")));
    keys.push(base);
    keys.push(MODEL.to_owned());
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule of the specification, written another way: every choice of parts, most specific first.
    #[test]
    fn every_action_version_and_speed_has_its_keys() {
        let mut seen = 0;
        for action in Action::ALL {
            for version in Version::ALL.into_iter().map(Some).chain([None]) {
                for speed in [Speed::Relax, Speed::Fast, Speed::Turbo] {
                    let expected = match (version.map(Version::name), speed) {
                        (None, Speed::Relax) => vec![format!("journey@{action}")],
                        (None, speed) => {
                            vec![format!("journey@{action}-{}", speed.name()), format!("journey@{action}")]
                        }
                        (Some(version), Speed::Relax) => {
                            vec![format!("journey@{action}-{version}"), format!("journey@{action}")]
                        }
                        (Some(version), speed) => vec![
                            format!("journey@{action}-{version}-{}", speed.name()),
                            format!("journey@{action}-{version}"),
                            format!("journey@{action}-{}", speed.name()),
                            format!("journey@{action}"),
                        ],
                    };
                    let charge = charge(action, version, speed);
                    let (last, specific) = charge.lines[0].keys.split_last().expect("keys");
                    assert_eq!((last.as_str(), specific), ("journey", expected.as_slice()));
                    assert_eq!(charge.lines[0].quantity, 1);
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 16 * 9 * 3);
    }

    #[test]
    fn keys_are_spelled_as_the_specification_spells_them() {
        let first = |action, version, speed| charge(action, version, speed).lines[0].keys[0].clone();
        assert_eq!(
            first(Action::HighVariation, Some(Version::V8_2), Speed::Turbo),
            "journey@high_variation-v8.2-turbo"
        );
        assert_eq!(
            first(Action::RemixSubtle, Some(Version::V8_1), Speed::Fast),
            "journey@remix_subtle-v8.1-fast"
        );
        assert_eq!(first(Action::Imagine, Some(Version::Niji6), Speed::Relax), "journey@imagine-niji6");
    }

    #[test]
    fn films_are_charged_for_each_and_by_their_resolution() {
        let small = films(None, false, 2).lines.remove(0);
        assert_eq!((small.keys, small.quantity), (vec!["journey@video".into(), "journey".into()], 2));
        let large = films(Some(Version::V7), true, 4);
        assert_eq!(
            large.lines[0].keys,
            ["journey@video-720p", "journey@video-v7", "journey@video", "journey"]
        );
        assert_eq!(large.lines[0].quantity, 4);
    }
}
