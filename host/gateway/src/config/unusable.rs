//! What of a configuration a start does without: defaults of a family that cannot be used, and text models and targets of
//! them whose provider is not there.
//!
//! A start never fails because of a family: the family is off, the others serve, and a warning says what to do. Wherever an
//! operator asks (`check-config`, a reload, an installation), the same is an error, and nothing changes.

use std::collections::BTreeMap;

use super::error::{ConfigError, ConfigErrors};
use super::family_defaults::FamilyDefaults;

/// What cannot be used, with the errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// The families that are off.
    pub(super) families: BTreeMap<String, Vec<ConfigError>>,
    /// Text models that are not served.
    pub(super) models: Vec<ConfigError>,
    /// Targets that are not asked, of models that others serve.
    pub(super) targets: Vec<ConfigError>,
}

impl Unusable {
    /// The family is off.
    pub(super) fn add_family(&mut self, family: &str, errors: impl IntoIterator<Item = ConfigError>) {
        self.families.entry(family.to_owned()).or_default().extend(errors);
    }

    fn all(&self) -> impl Iterator<Item = &ConfigError> {
        self.families.values().flatten().chain(&self.models).chain(&self.targets)
    }

    /// Takes the defaults that have an error in their own file out of `installed`, but not `brought`, which an operator
    /// offers right now.
    ///
    /// # Errors
    /// Every error so far, where no file of a family is to blame.
    pub(super) fn take_out(
        &mut self,
        installed: &mut Vec<FamilyDefaults>,
        brought: Option<&str>,
        errors: ConfigErrors,
    ) -> Result<(), ConfigErrors> {
        let before = installed.len();
        installed.retain(|one| {
            let own: Vec<_> = errors.iter().filter(|error| error.is_in(&one.name)).cloned().collect();
            let Some(family) = one.family.as_ref().filter(|_| brought != Some(one.name.as_str())) else {
                return true;
            };
            if !own.is_empty() {
                self.add_family(family, own.iter().cloned());
            }
            own.is_empty()
        });
        if installed.len() < before {
            return Ok(());
        }
        let all = errors.iter().chain(self.families.values().flatten()).cloned();
        Err(all.collect::<Vec<_>>().into())
    }

    pub(super) fn extend(&mut self, other: Self) {
        other.families.iter().for_each(|(family, errors)| self.add_family(family, errors.iter().cloned()));
        self.models.extend(other.models);
        self.targets.extend(other.targets);
    }

    /// Nothing is unusable.
    pub(super) fn check(&self) -> Result<(), ConfigErrors> {
        ConfigErrors::check(self.all().cloned().collect())
    }

    /// Nothing is unusable that was not `before`.
    pub(super) fn check_but_for(&self, before: &Self) -> Result<(), ConfigErrors> {
        let is_known = |error: &&ConfigError| before.all().any(|known| known.says_the_same(error));
        ConfigErrors::check(self.all().filter(|error| !is_known(error)).cloned().collect())
    }

    /// A line of the log for each error, with what a start does without.
    pub(super) fn warnings(&self) -> Vec<String> {
        let families = self.families.iter().flat_map(|(family, errors)| {
            errors.iter().map(move |error| format!("family {family:?} is off: {}", error.short()))
        });
        let models = self.models.iter().map(|error| format!("a text model is not served: {}", error.short()));
        let target =
            |error: &ConfigError| format!("a target of a text model is not asked: {}", error.short());
        families.chain(models).chain(self.targets.iter().map(target)).collect()
    }
}
