//! Finding, reading and checking the configuration.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_tasks::PriceBook;
use toml::de::DeTable;

use super::document::Document;
use super::{Config, Mistake, effective};
use crate::Embedded;

/// The file that is read when none is named.
const USUAL: &str = "gatehouse.toml";

/// A configuration that was read and checked.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The typed sections.
    pub(crate) config: Config,
    /// Everything in effect, for people; secrets are not in it.
    pub(crate) effective: String,
    /// Whether there is a file at all.
    pub(crate) from_file: bool,
    source: Source,
}

/// What was read, kept to point at.
#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    environment: Vec<(String, String)>,
}

impl Loaded {
    /// The mistake a room found in the value at `key`, with its place.
    #[must_use]
    pub(crate) fn mistake(&self, key: &str, problem: &str) -> Mistake {
        match Document::parse(&self.source.name, &self.source.text) {
            Ok(mut document) => {
                document.override_from(&self.source.environment);
                document.mistake(key, problem)
            }
            Err(mistake) => mistake,
        }
    }
}

/// Reads `file` (or the usual one, where there is one), lays it over the families' defaults, and overrides it
/// from the environment's variables. Without a file the sandbox is on.
///
/// # Errors
/// The first [`Mistake`], with its line and remedy.
pub(crate) fn load(
    file: Option<&Path>,
    families: &[Embedded],
    environment: Vec<(String, String)>,
) -> Result<Loaded, Mistake> {
    let found = find(file)?;
    let from_file = found.is_some();
    let (name, text) = found
        .map(|(path, text)| (path.display().to_string(), text))
        .unwrap_or_else(|| ("no configuration file".to_owned(), "[sandbox]\nenabled = true\n".to_owned()));
    let (config, effective) = read(&name, &text, families, &environment)?;
    Ok(Loaded { config, effective, from_file, source: Source { name, text, environment } })
}

/// The same from text; `name` is what mistakes call it.
pub(super) fn read(
    name: &str,
    text: &str,
    families: &[Embedded],
    environment: &[(String, String)],
) -> Result<(Config, String), Mistake> {
    let mut document = Document::parse(name, text)?;
    for family in families {
        let defaults = DeTable::parse(family.family_toml).map_err(|error| {
            Mistake::of_file(family.name, error.message().to_owned(), "rebuild the gateway")
        })?;
        document.lay_under(defaults.get_ref());
    }
    document.override_from(environment);
    document.give_accounts();
    let config: Config = document.read()?;
    check(&document, &config)?;
    let effective = effective::render(&document);
    Ok((config, effective))
}

fn find(file: Option<&Path>) -> Result<Option<(PathBuf, String)>, Mistake> {
    let path = file.unwrap_or_else(|| Path::new(USUAL));
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && file.is_none() => Ok(None),
        Err(error) => {
            let remedy = "name a readable file with --config, or none to try the gateway out";
            Err(Mistake::of_file(&path.display().to_string(), error.to_string(), remedy))
        }
    }
}

/// What the types alone cannot refuse.
fn check(document: &Document<'_>, config: &Config) -> Result<(), Mistake> {
    if let Err((key, message)) = config.admin.check() {
        return Err(document.mistake(&format!("admin.{key}"), &message));
    }
    if let Err(error) = config.log.filter() {
        let message = format!("expected info, debug or a filter such as info,gatehouse_edge=debug: {error}");
        return Err(document.mistake("log.level", &message));
    }
    if let Err(error) = PriceBook::new(config.prices.clone()) {
        return Err(document.mistake(&format!("prices.{}", error.key), &error.to_string()));
    }
    if let Err((path, message)) = gatehouse_driver::check_models(&config.models) {
        return Err(document.mistake(&format!("models.{path}"), &message));
    }
    for (id, model) in &config.models {
        if !config.providers.contains_key(&model.provider) {
            let message = format!("expected one of [providers], got {:?}", model.provider);
            return Err(document.mistake(&format!("models.{id}.provider"), &message));
        }
    }
    let bare = config.providers.iter().find(|(name, provider)| {
        provider.accounts.is_empty() && document.speaks_of(&format!("providers.{name}"))
    });
    if let Some((name, _)) = bare.filter(|_| !config.sandbox.enabled) {
        let message = format!("no account; add [providers.{name}.accounts.main] with a secret");
        return Err(document.mistake(&format!("providers.{name}"), &message));
    }
    Ok(())
}
