//! The engine's arguments: a field of the body goes before a flag of the prompt, and that before a value of `metadata`.
//! Together they decide what is sent, the version and the speed.

use gatehouse_sdk::source::normalised;
use gatehouse_sdk::{InvalidParam, Refusal};

use crate::action::Speed;
use crate::request::engine_params::EngineParams;
use crate::request::fields::Fields;
use crate::request::flags::Prompt;
use crate::version::Version;

const SPEEDS: [&str; 3] = ["relax", "fast", "turbo"];
/// Flags that make films. They belong to the video route, which has a price for them.
pub(crate) const FILM_FLAGS: [&str; 5] = ["video", "motion", "bs", "end", "loop"];

/// What the engine gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// With its flags.
    pub(crate) prompt: String,
    /// As far as it is known.
    pub(crate) version: Option<Version>,
    pub(crate) speed: Speed,
}

/// The arguments of a route that takes all of them.
///
/// # Errors
/// The first invalid one.
pub(crate) fn read(fields: &Fields, prompt: &str) -> Result<Arguments, Refusal> {
    let params: EngineParams = fields.params()?;
    compose(fields, &params, prompt).map_err(|invalid| fields.invalid(invalid).into())
}

/// A prompt of a route that takes no other argument than a speed: its speed flags count as that, all else stays.
pub(crate) fn of_prompt(prompt: &str, speed: Option<Speed>) -> Result<Arguments, InvalidParam> {
    let mut prompt = Prompt::read(prompt);
    check_one_job(&prompt, "prompt")?;
    let flagged = take_speed(&mut prompt);
    Ok(Arguments { prompt: prompt.write(), version: None, speed: speed.or(flagged).unwrap_or_default() })
}

/// Takes the speed out of a prompt. It goes into the path of the call; left in the prompt, it would count without a price.
pub(crate) fn take_speed(prompt: &mut Prompt) -> Option<Speed> {
    let last = prompt.last_of(&SPEEDS).and_then(Speed::of_flag);
    SPEEDS.iter().for_each(|flag| prompt.drop_flag(flag));
    last
}

/// One request is one job at one price.
fn check_one_job(prompt: &Prompt, field: &str) -> Result<(), InvalidParam> {
    if prompt.value("repeat").is_some() {
        let problem = "expected a text without --repeat, send one request for each picture".to_owned();
        return Err(InvalidParam::at(Some(field), problem));
    }
    if let Some(flag) = prompt.last_of(&FILM_FLAGS) {
        let problem = format!("expected a text without --{flag}, which belongs to the route `video`");
        return Err(InvalidParam::at(Some(field), problem));
    }
    Ok(())
}

fn compose(fields: &Fields, params: &EngineParams, text: &str) -> Result<Arguments, InvalidParam> {
    let mut prompt = Prompt::read(text);
    let mut extra = Prompt::read(params.extra.as_deref().unwrap_or_default());
    check_one_job(&prompt, "prompt")?;
    check_one_job(&extra, "extra")?;
    if !prompt.has_text() && fields.get("image_urls").is_none() {
        let problem = "expected a text before the flags, got flags only".to_owned();
        return Err(InvalidParam::at(Some("prompt"), problem));
    }
    // What stands later overrides what stands before: body, then `extra`, then the prompt.
    let extra_speed = take_speed(&mut extra);
    let prompt_speed = take_speed(&mut prompt);
    let (version, from_body) = version(params, &[&extra, &prompt])?;
    check_version(params, version)?;
    let mut own = flags(params);
    if from_body {
        own.insert(0, ("v", version.map(Version::flag).unwrap_or_default()));
        own.push(("niji", String::new()));
    }
    for (name, _) in &own {
        prompt.drop_flag(name);
        extra.drop_flag(name);
    }
    if params.niji == Some(false) {
        prompt.drop_flag("niji");
        extra.drop_flag("niji");
    }
    own.into_iter().filter(|(_, flag)| !flag.is_empty()).for_each(|(_, flag)| prompt.append(flag));
    let extra = extra.write();
    if !extra.trim().is_empty() {
        prompt.append(extra);
    }
    Ok(Arguments {
        prompt: prompt.write(),
        version,
        speed: params.speed.or(extra_speed).or(prompt_speed).unwrap_or_default(),
    })
}

/// The version, and whether the body decides it. A flag with a version that has no name in the price keys stays as it
/// is, for the engine to judge.
fn version(params: &EngineParams, prompts: &[&Prompt]) -> Result<(Option<Version>, bool), InvalidParam> {
    let flagged = |name: &str| prompts.iter().find_map(|prompt| prompt.value(name));
    let invalid = |expected: &str, text: &str| {
        InvalidParam::at(Some("version"), format!("expected {expected}, got the string {text:?}"))
    };
    match (params.niji, &params.version) {
        (Some(true), Some(text)) => match Version::niji(text) {
            Some(version) => Ok((Some(version), true)),
            None => Err(invalid("7 or 6 with `niji`", text)),
        },
        (Some(true), None) => {
            let number = flagged("niji").filter(|number| !number.is_empty()).or_else(|| flagged("v"));
            Ok((Some(number.and_then(Version::niji).unwrap_or(Version::Niji7)), true))
        }
        (_, Some(text)) => {
            let niji = text.trim().to_ascii_lowercase().starts_with("niji");
            let version =
                if niji && params.niji.is_none() { Version::niji(text) } else { Version::plain(text) };
            match version {
                Some(version) => Ok((Some(version), true)),
                None => Err(invalid("8.2, 8.1, 7, 6.1, 5.2 or 5.1", text)),
            }
        }
        (niji, None) => {
            let last = prompts.iter().find_map(|prompt| match niji {
                Some(false) => prompt.last_of(&["v"]).map(|name| (name, *prompt)),
                _ => prompt.last_of(&["v", "niji"]).map(|name| (name, *prompt)),
            });
            let version = last.and_then(|(name, prompt)| {
                let value = prompt.value(name).unwrap_or_default();
                if name == "niji" { Version::niji(value) } else { Version::plain(value) }
            });
            Ok((version, false))
        }
    }
}

/// Arguments that only some versions have.
fn check_version(params: &EngineParams, version: Option<Version>) -> Result<(), InvalidParam> {
    let Some(version) = version else { return Ok(()) };
    let lacks = |field: &str, expected: &str| {
        Err(InvalidParam::at(Some(field), format!("expected {expected}, got version {}", version.name())))
    };
    if params.draft == Some(true) && !version.has_draft() {
        return lacks("draft", "version 7, 8.1 or 8.2");
    }
    if params.hd == Some(true) && !version.is_eight() {
        return lacks("hd", "version 8.1 or 8.2");
    }
    Ok(())
}

/// The flags that the fields make, each with its name. An empty one only takes the same flag out of the prompt.
fn flags(params: &EngineParams) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.as_ref().map(|text| text.trim().to_owned());
    // The engine knows schemes in lower case.
    let links = |value: &Option<String>| {
        let words: Vec<String> = value.as_ref()?.split_whitespace().map(normalised).collect();
        Some(words.join(" "))
    };
    let number = |value: Option<i64>| value.map(|number| number.to_string());
    let values = [
        ("ar", text(&params.size)),
        ("q", text(&params.quality)),
        ("style", text(&params.style)),
        ("s", number(params.stylize)),
        ("c", number(params.chaos)),
        ("w", number(params.weird)),
        ("seed", number(params.seed)),
        ("no", text(&params.negative_prompt)),
        ("iw", params.iw.map(|weight| weight.to_string())),
        ("cw", number(params.cw)),
        ("sw", number(params.sw)),
        ("dw", number(params.dw)),
        ("cref", links(&params.cref)),
        ("sref", links(&params.sref)),
        ("dref", links(&params.dref)),
        ("stop", number(params.stop)),
    ];
    let switches = [("tile", params.tile), ("raw", params.raw), ("draft", params.draft), ("hd", params.hd)];
    let written = values.into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some((name, if value.is_empty() { String::new() } else { format!("--{name} {value}") }))
    });
    let switched = switches
        .into_iter()
        .filter_map(|(name, value)| Some((name, if value? { format!("--{name}") } else { String::new() })));
    written.chain(switched).collect()
}

#[cfg(test)]
mod tests;
