//! Finding, reading and checking the configuration.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_tasks::PriceTable;
use toml::de::DeTable;

use super::document::Document;
use super::effective;
use super::error::ConfigError;
use super::sections::Config;
use crate::plugins::built_in::BuiltInPlugin;

/// The file read by default.
const DEFAULT_FILE: &str = "gatehouse.toml";

/// A configuration that was read and checked.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The typed sections.
    pub(crate) config: Config,
    /// Every value in effect, as text without secrets.
    pub(crate) effective: String,
    /// Whether there is a file at all.
    pub(crate) from_file: bool,
    source: Source,
}

/// The texts, kept for error messages.
#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    environment: Vec<(String, String)>,
}

impl Loaded {
    /// The error that a service found in the value at `key`, with its line.
    #[must_use]
    pub(crate) fn error_at(&self, key: &str, problem: &str) -> ConfigError {
        match Document::parse(&self.source.name, &self.source.text) {
            Ok(mut document) => {
                document.override_from(&self.source.environment);
                document.error_at(key, problem)
            }
            Err(error) => error,
        }
    }
}

/// Reads `file` (or the default one, if it exists), merges it over the defaults of the families, and overrides it
/// from the environment. Without a file the sandbox is on.
///
/// # Errors
/// The first [`ConfigError`], with its line and remedy.
pub(crate) fn load(
    file: Option<&Path>,
    families: &[BuiltInPlugin],
    environment: Vec<(String, String)>,
) -> Result<Loaded, ConfigError> {
    let found = find(file)?;
    let from_file = found.is_some();
    let (name, text) = found
        .map(|(path, text)| (path.display().to_string(), text))
        .unwrap_or_else(|| ("no configuration file".to_owned(), "[sandbox]\nenabled = true\n".to_owned()));
    let (config, effective) = read(&name, &text, families, &environment)?;
    Ok(Loaded { config, effective, from_file, source: Source { name, text, environment } })
}

/// The same from text; `name` is its name in error messages.
pub(super) fn read(
    name: &str,
    text: &str,
    families: &[BuiltInPlugin],
    environment: &[(String, String)],
) -> Result<(Config, String), ConfigError> {
    let mut document = Document::parse(name, text)?;
    for family in families {
        let defaults = DeTable::parse(family.family_toml).map_err(|error| {
            ConfigError::of_file(family.name, error.message().to_owned(), "rebuild the gateway")
        })?;
        document.add_defaults(defaults.get_ref());
    }
    document.override_from(environment);
    document.give_accounts();
    let config: Config = document.read()?;
    check(&document, &config)?;
    let effective = effective::render(&document);
    Ok((config, effective))
}

fn find(file: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let path = file.unwrap_or_else(|| Path::new(DEFAULT_FILE));
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && file.is_none() => Ok(None),
        Err(error) => {
            let remedy = "name a readable file with --config, or none to try the gateway out";
            Err(ConfigError::of_file(&path.display().to_string(), error.to_string(), remedy))
        }
    }
}

/// The checks that the types cannot do.
fn check(document: &Document<'_>, config: &Config) -> Result<(), ConfigError> {
    if let Err((key, message)) = config.admin.check() {
        return Err(document.error_at(&format!("admin.{key}"), &message));
    }
    if let Err(error) = config.log.filter() {
        let message = format!("expected info, debug or a filter such as info,gatehouse_edge=debug: {error}");
        return Err(document.error_at("log.level", &message));
    }
    if let Err(error) = PriceTable::new(config.prices.clone()) {
        return Err(document.error_at(&format!("prices.{}", error.key), &error.to_string()));
    }
    if let Err((path, message)) = gatehouse_driver::check_models(&config.models) {
        return Err(document.error_at(&format!("models.{path}"), &message));
    }
    for (id, model) in &config.models {
        if !config.providers.contains_key(&model.provider) {
            let message = format!("expected one of [providers], got {:?}", model.provider);
            return Err(document.error_at(&format!("models.{id}.provider"), &message));
        }
    }
    let unusable = config.providers.iter().find(|(name, provider)| {
        provider.accounts.is_empty() && document.mentions(&format!("providers.{name}"))
    });
    if let Some((name, _)) = unusable.filter(|_| !config.sandbox.enabled) {
        let message = format!("no account; add [providers.{name}.accounts.main] with a secret");
        return Err(document.error_at(&format!("providers.{name}"), &message));
    }
    Ok(())
}
