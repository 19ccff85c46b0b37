//! Finding, reading and checking the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_admin::{AdminClient, nearest};
use gatehouse_tasks::PriceTable;
use toml::Table;
use toml::de::DeTable;

use super::differences;
use super::document::Document;
use super::error::{ConfigError, ConfigErrors};
use super::family_defaults::FamilyDefaults;
use super::impossible::{Finding, impossible};
use super::installed_defaults::installed;
use super::ownership::foreign;
use super::plausible::{Known, drop_secrets};
use super::sections::{Config, DataConfig};
use super::unusable::Unusable;
use crate::backup::BucketSettings;
use crate::plugins::built_in::{BuiltInPlugin, PLUGINS};
use crate::secrets::Outgoing;

/// Where a configuration is looked for that nobody names: in the folder of work, then where packages put it.
const DEFAULT_FILES: [&str; 2] = ["gatehouse.toml", "/etc/gatehouse/gatehouse.toml"];

/// Where the configuration of a process comes from, as its command line and its environment say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location {
    /// The file; otherwise the default one, if it exists.
    pub(crate) file: Option<PathBuf>,
    /// The variables that override it.
    pub(crate) environment: Vec<(String, String)>,
    /// The data folder; otherwise the file names it.
    pub(crate) data: Option<PathBuf>,
    /// What a command presents to an admin listener with TLS; otherwise `[admin.client]` says.
    pub(crate) client: AdminClient,
}

/// A configuration that was read and checked.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The typed sections.
    pub(crate) config: Config,
    /// Every value in effect, without the secrets: only references to them are in a configuration.
    pub(crate) table: Table,
    /// Whether there is a file at all.
    pub(crate) from_file: bool,
    /// What has no effect and was meant to, each with its line.
    pub(crate) warnings: Vec<ConfigError>,
    unusable: Unusable,
    source: Source,
}

/// The texts, kept for error messages.
#[derive(Clone, Debug, Default)]
struct Source {
    name: String,
    text: String,
    installed: Vec<FamilyDefaults>,
    /// The family whose defaults are offered right now.
    brought: Option<String>,
    environment: Vec<(String, String)>,
}

impl Loaded {
    /// The error that a service found in the value at `key`, with its line.
    pub(crate) fn error_at(&self, key: &str, problem: &str) -> ConfigError {
        match self.source.document() {
            Ok(document) => document.error_at(key, problem),
            Err(error) => error,
        }
    }

    /// `file:line` of a key that the operator set, or its variable.
    pub(crate) fn setter(&self, key: &str) -> Option<String> {
        self.source.document().ok()?.setter(key)
    }

    /// Every value in effect, as text.
    pub(crate) fn effective(&self) -> String {
        differences::render(self.table.clone())
    }

    /// The same as values.
    pub(crate) fn effective_values(&self) -> Table {
        differences::values(self.table.clone())
    }

    /// What a start does without, a line for the log each.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.unusable.warnings()
    }

    /// The same configuration with every family on, for a plugin whose family is not known yet: what is wrong with its own part
    /// may be what it brings anew.
    pub(crate) fn with_every_family(mut self) -> Self {
        self.config.unusable_families.clear();
        self
    }

    /// The same configuration, where an operator asks whether all of it can be used.
    ///
    /// # Errors
    /// What a start would do without.
    pub(crate) fn whole(self) -> Result<Self, ConfigErrors> {
        self.unusable.check()?;
        Ok(self)
    }

    /// The same where an operator changes one family: what was unusable before is not to blame on the change.
    ///
    /// # Errors
    /// What a start would do without, and what is not among the `known`.
    pub(crate) fn whole_but_for(self, known: Option<&Self>) -> Result<Self, ConfigErrors> {
        let Some(known) = known else { return self.whole() };
        self.unusable.check_but_for(&known.unusable)?;
        Ok(self)
    }

    /// The defaults that came with installed families.
    pub(crate) fn installed(&self) -> &[FamilyDefaults] {
        &self.source.installed
    }

    /// The defaults of one of them.
    pub(crate) fn installed_of(&self, family: &str) -> Option<&FamilyDefaults> {
        self.source.installed.iter().find(|one| one.family.as_deref() == Some(family))
    }
}

impl Location {
    /// The operator's own part of the configuration, and whether there is a file.
    fn source(&self) -> Result<(Source, bool), ConfigError> {
        let environment = self.environment.clone();
        let Some(path) = file_of(self) else {
            let (name, text) = ("no configuration file".to_owned(), "[sandbox]\nenabled = true\n".to_owned());
            return Ok((Source { name, text, environment, ..Source::default() }, false));
        };
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| {
            let remedy = "name a readable file with --config, or none to try the gateway out";
            ConfigError::of_file(&name, error.to_string(), remedy)
        })?;
        Ok((Source { name, text, environment, ..Source::default() }, true))
    }
}

impl Source {
    /// The operator's document over the defaults of the installed families.
    fn document(&self) -> Result<Document<'_>, ConfigError> {
        let mut document = Document::parse(&self.name, &self.text)?;
        for defaults in &self.installed {
            // They were read before.
            if let Ok(defaults) = defaults.document() {
                document.add_installed(&defaults);
            }
        }
        document.override_from(&self.environment);
        Ok(document)
    }
}

/// Reads the file of `location`, merges it over the defaults of the installed and the built-in families, and overrides
/// it from the environment. Without a file the sandbox is on. A family whose part cannot be used is off: see
/// [`Loaded::whole`]. What a plugin `brought`, if anything, takes the place of earlier defaults of its family.
///
/// # Errors
/// Every [`ConfigError`] found, with line and remedy.
pub(crate) fn load_with(
    location: &Location,
    brought: Option<FamilyDefaults>,
) -> Result<Loaded, ConfigErrors> {
    load_over(PLUGINS, location, brought)
}

/// The same over the defaults of these families.
pub(super) fn load_over(
    families: &[BuiltInPlugin],
    location: &Location,
    brought: Option<FamilyDefaults>,
) -> Result<Loaded, ConfigErrors> {
    let (mut source, from_file) = location.source()?;
    let configured = source.document().and_then(|document| document.section::<DataConfig>("data"));
    // An error in `[data]` is found again with all others.
    let data = location.data.clone().unwrap_or_else(|| configured.unwrap_or_default().folder);
    let (mut installed, mut unusable) = installed(&data)?;
    let offered = brought.as_ref().map(|brought| brought.name.clone());
    let family = brought.as_ref().and_then(|brought| brought.family.clone());
    if let Some(brought) = brought {
        installed.retain(|one| one.family != brought.family);
        if let Some(family) = &brought.family {
            unusable.families.remove(family);
        }
        installed.insert(0, brought);
    }
    (source.installed, source.brought) = (installed, family);
    // Each reading does without one file more than the one before.
    let Read { mut config, table, warnings, unusable: others } = loop {
        match read(&source, families, Some(&data)) {
            Ok(read) => break read,
            Err(errors) => unusable.take_out(&mut source.installed, offered.as_deref(), errors)?,
        }
    };
    unusable.extend(others);
    config.plugins.settings.values_mut().for_each(drop_secrets);
    config.unusable_families = unusable.families.keys().cloned().collect();
    Ok(Loaded { config, table, from_file, warnings, unusable, source })
}

/// The `[data]` table alone, for a command that needs no more. The rest of the document may be anything.
pub(crate) fn load_data(location: &Location) -> Result<DataConfig, ConfigErrors> {
    Ok(location.source()?.0.document()?.section("data")?)
}

/// How connections leave, for a command that asks a registry.
pub(crate) fn load_outgoing(location: &Location) -> Result<Outgoing, ConfigErrors> {
    Ok(outgoing(&location.source()?.0.document()?)?)
}

fn outgoing(document: &Document<'_>) -> Result<Outgoing, ConfigError> {
    let extra_roots_file = document.entry("fetch", "extra_roots_file")?;
    Ok(Outgoing { extra_roots_file, config: document.section("outgoing")? })
}

/// What a restore needs of the configuration: how a bucket of backups is reached.
pub(crate) fn load_backup_buckets(location: &Location) -> Result<BucketSettings, ConfigErrors> {
    let (source, _) = location.source()?;
    let document = source.document()?;
    let media_url: Option<String> = document.entry("media", "url")?;
    let media = document.entry("media", "s3")?;
    let min_free_mib = document.entry("data", "min_free_mib")?;
    let backup = document.section("backup")?;
    Ok(BucketSettings::new(&backup, media_url.as_deref(), &media, min_free_mib, outgoing(&document)?))
}

/// The `[admin.client]` table alone, for a command that asks a running gateway.
pub(crate) fn load_admin_client(location: &Location) -> Result<AdminClient, ConfigErrors> {
    Ok(location.source()?.0.document()?.entry("admin", "client")?)
}

/// The sections of a text; `name` is its name in error messages.
#[cfg(test)]
pub(super) fn read_text(
    name: &str,
    text: &str,
    families: &[BuiltInPlugin],
    environment: &[(String, String)],
) -> Result<(Config, String), ConfigErrors> {
    let (name, text) = (name.to_owned(), text.to_owned());
    let source = Source { name, text, environment: environment.to_vec(), ..Source::default() };
    let read = read(&source, families, None)?;
    read.unusable.check()?;
    Ok((read.config, differences::render(read.table)))
}

/// A document in its forms.
struct Read {
    config: Config,
    table: Table,
    warnings: Vec<ConfigError>,
    unusable: Unusable,
}

/// Reads everything; `data` is the data folder, if one is known.
fn read(source: &Source, families: &[BuiltInPlugin], data: Option<&Path>) -> Result<Read, ConfigErrors> {
    let mut document = Document::parse(&source.name, &source.text)?;
    let installed = source.installed.iter().map(FamilyDefaults::document).collect::<Result<Vec<_>, _>>()?;
    installed.iter().for_each(|defaults| document.add_installed(defaults));
    for family in families {
        let defaults = DeTable::parse(family.family_toml).map_err(|error| {
            ConfigError::of_file(family.name, error.message().to_owned(), "rebuild the gateway")
        })?;
        document.add_defaults(defaults.get_ref());
    }
    document.override_from(&source.environment);
    let foreign = foreign(&source.installed, families, &|key| document.mentions(key));
    let mut foreign: Vec<_> = foreign.iter().map(|(key, why)| document.error_at(key, why)).collect();
    let mut warnings = without_address(&mut document);
    document.give_accounts();
    let (mut config, mut errors) = document.read_parts::<Config>();
    let optional = config.providers.iter().filter(|(_, provider)| provider.optional);
    config.optional_providers = optional.map(|(name, _)| name.clone()).collect();
    errors.append(&mut foreign);
    errors.extend(check(&document, &config));
    let (table, is_set) = (differences::table(&document), |key: &str| document.mentions(key));
    let at = |(key, why): &Finding| document.error_at(key, why);
    errors.extend(impossible(&table, &is_set).iter().map(at));
    let known = Known::new(families, &source.installed, data);
    let mut unusable = without_provider(&document, &mut config);
    for (family, wrong) in known.wrong_settings(&table, source.brought.as_deref()) {
        unusable.add_family(&family, [at(&wrong)]);
    }
    if !errors.is_empty() {
        // All at once.
        errors.extend(unusable.check().err().iter().flat_map(ConfigErrors::iter).cloned());
        return Err(errors.into());
    }
    warnings.extend(without_account(&document, &config));
    warnings.extend(known.unknown_names(&table, &is_set).iter().map(at));
    Ok(Read { config, table, warnings, unusable })
}

/// The file of a location, if there is one.
pub(crate) fn file_of(location: &Location) -> Option<&Path> {
    let default =
        || DEFAULT_FILES.map(Path::new).into_iter().find(|path| !matches!(path.try_exists(), Ok(false)));
    location.file.as_deref().or_else(default)
}

/// The checks that the types cannot do: every error they find.
fn check(document: &Document<'_>, config: &Config) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    let mut wrong = |path: &str, message: &str| errors.push(document.error_at(path, message));
    if let Err((key, message)) = config.server.check() {
        wrong(&format!("server.{key}"), &message);
    }
    for (table, checked) in [
        ("admin", config.admin.check()),
        ("fleet", config.fleet.check(config.data.url.is_some())),
        ("log", config.log.filter().map(drop).map_err(|message| ("level", message))),
        ("traces", config.traces.check()),
    ] {
        if let Err((key, message)) = checked {
            wrong(&format!("{table}.{key}"), &message);
        }
    }
    for (key, price) in &config.prices {
        if let Err(error) = PriceTable::new([(key.clone(), *price)].into()) {
            wrong(&format!("prices.{key}"), &error.to_string());
        }
    }
    for (path, message) in unusable_models(config) {
        wrong(&format!("models.{path}"), &message);
    }
    if let Err((path, message)) = price_variants(config) {
        wrong(format!("price_variants.{path}").trim_end_matches('.'), &message);
    }
    errors
}

/// Whether the variants of the price book can be used. Those that run on simulated providers have models that stand nowhere.
fn price_variants(config: &Config) -> Result<(), (String, String)> {
    let mut variants = config.price_variants.clone();
    if config.sandbox.enabled {
        variants
            .values_mut()
            .for_each(|variant| variant.models.retain(|id, _| config.models.contains_key(id)));
    }
    gatehouse_driver::check_price_variants(&variants, &config.models)
}

/// Takes out the targets of text models whose provider is not there, and the models that have no other: the family that
/// brings it may be gone, or off.
fn without_provider(document: &Document<'_>, config: &mut Config) -> Unusable {
    let mut unusable = Unusable::default();
    config.models.retain(|id, model| {
        let gone = model.take_out_targets(|provider| !document.has_entry("providers", provider));
        let is_served = gone.is_empty() || model.has_provider();
        for (field, provider) in gone {
            let message = format!("expected one of [providers], got {provider:?}");
            let error = document.error_at(&format!("models.{id}.{field}"), &message);
            if is_served { unusable.targets.push(error) } else { unusable.models.push(error) }
        }
        is_served
    });
    unusable
}

/// A warning for each provider that is left out because nothing says where it is.
fn without_address(document: &mut Document<'_>) -> Vec<ConfigError> {
    let left_out = document.take_providers_without_address();
    let known = document.root().get("providers").and_then(|section| section.get_ref().as_table());
    let known: Vec<String> =
        known.into_iter().flatten().map(|(name, _)| name.get_ref().to_string()).collect();
    let warn = |name: &String| {
        let remedy = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "install the plugin that brings it, or add `base_url`".to_owned(),
        };
        let message = format!("it has accounts and no `base_url`, so it is not used; {remedy}");
        document.error_at(&format!("providers.{name}"), &message)
    };
    left_out.iter().map(warn).collect()
}

/// A warning for each provider that the operator names and that has no account.
fn without_account(document: &Document<'_>, config: &Config) -> Vec<ConfigError> {
    let unused = config.providers.iter().filter(|(name, provider)| {
        provider.accounts.is_empty()
            && !config.sandbox.enabled
            && document.mentions(&format!("providers.{name}"))
    });
    let warn = |name: &String| {
        let message = format!(
            "it has no account, so what needs it is not served; add [providers.{name}.accounts.main] with a secret"
        );
        document.error_at(&format!("providers.{name}"), &message)
    };
    unused.map(|(name, _)| warn(name)).collect()
}

/// What is wrong with each text model by itself, and otherwise with the first that does not go with the others.
fn unusable_models(config: &Config) -> Vec<(String, String)> {
    let alone = config.models.iter().filter_map(|(id, model)| {
        gatehouse_driver::check_models(&[(id.clone(), model.clone())].into()).err()
    });
    let alone: Vec<_> = alone.collect();
    if alone.is_empty() {
        gatehouse_driver::check_models(&config.models).err().into_iter().collect()
    } else {
        alone
    }
}
