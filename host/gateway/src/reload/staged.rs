//! The defaults that come with a version, as its deployment keeps them: staged before the switch, settled after it, and what becomes
//! of each of their values.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_admin::{
    DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, OperationError, StagedDefaults,
};
use gatehouse_model::Digest;
use gatehouse_runtime::{Companion, Config};
use toml::Value;

use crate::config::{FamilyDefaults, Loaded, find, settle_defaults, stage_defaults, units, unstage_defaults};

/// The defaults of a family, checked.
pub(super) struct Staged<'a> {
    config: Config,
    effects: Vec<DefaultView>,
    data: PathBuf,
    text: String,
    switch: RefCell<Option<Box<dyn FnOnce() + 'a>>>,
}

impl<'a> Staged<'a> {
    /// For the data folder `data`; `switch` puts them into effect.
    pub(super) fn new(
        data: &Path,
        defaults: &FamilyDefaultsFile,
        config: Config,
        effects: Vec<DefaultView>,
        switch: impl FnOnce() + 'a,
    ) -> Box<Self> {
        let (data, text) = (data.to_owned(), defaults.text.clone());
        Box::new(Self { config, effects, data, text, switch: RefCell::new(Some(Box::new(switch))) })
    }
}

impl Companion for Staged<'_> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn keep(&self, family: &str, digest: &Digest) -> io::Result<()> {
        stage_defaults(&self.data, family, digest, &self.text)
    }

    fn discard(&self, family: &str, digest: &Digest) {
        if let Err(error) = unstage_defaults(&self.data, family, digest) {
            tracing::error!(family, %error, "the defaults of a refused plugin could not be removed");
        }
    }

    /// The version is listed: they count, whether or not their file has its own name yet.
    fn apply(&self) {
        if let Err(error) = settle_defaults(&self.data) {
            tracing::error!(%error, "the defaults of a plugin keep their staged name until the next start");
        }
        if let Some(switch) = self.switch.borrow_mut().take() {
            switch();
        }
    }
}

impl StagedDefaults for Staged<'_> {
    fn effects(&self) -> Vec<DefaultView> {
        self.effects.clone()
    }
}

/// The defaults of a file, as the configuration takes them.
pub(super) fn defaults_of(file: &FamilyDefaultsFile, family: Option<&str>) -> FamilyDefaults {
    let (name, text) = (file.name.clone(), file.text.clone());
    FamilyDefaults { family: family.map(str::to_owned), name, text }
}

/// What a family brings after it is uninstalled.
pub(super) fn no_defaults(family: &str) -> FamilyDefaults {
    FamilyDefaults { family: Some(family.to_owned()), name: family.to_owned(), text: String::new() }
}

pub(super) fn misconfigured(errors: impl std::fmt::Display) -> OperationError {
    OperationError::Misconfigured(errors.to_string())
}

/// The values of a configuration, for programs.
pub(super) fn effective_view(
    loaded: &Loaded,
    needs_restart: Vec<String>,
) -> Result<EffectiveView, OperationError> {
    let values = serde_json::to_value(loaded.effective_values());
    match values.map_err(|error| OperationError::Failed(error.to_string()))? {
        serde_json::Value::Object(values) => Ok(EffectiveView { values, needs_restart }),
        other => Err(OperationError::Failed(format!("the configuration is no table: {other}"))),
    }
}

fn text_of(value: Option<&Value>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// What becomes of each value: `before` is what is in effect now, `after` what will be.
pub(super) fn effects(before: Option<&Loaded>, after: &Loaded, family: &str) -> Vec<DefaultView> {
    let of = |loaded: &Loaded| loaded.installed_of(family).map(FamilyDefaults::table).unwrap_or_default();
    let (old, new) = (before.map(of).unwrap_or_default(), of(after));
    let view = |unit: &Vec<String>| {
        let key = unit.join(".");
        let (brought, was, is) =
            (find(&new, unit), before.and_then(|before| find(&before.table, unit)), find(&after.table, unit));
        let effect = match brought {
            None => DefaultEffect::Removed { before: text_of(was) },
            Some(_) if after.setter(&key).is_some() => {
                DefaultEffect::Overridden { by: text_of(is), at: after.setter(&key).unwrap_or_default() }
            }
            Some(_) if was.is_none() => DefaultEffect::Added,
            Some(_) if was == is => DefaultEffect::Unchanged,
            Some(_) => DefaultEffect::Changed { before: text_of(was) },
        };
        DefaultView { key, value: text_of(brought), effect }
    };
    units(&old).union(&units(&new)).map(view).collect()
}
