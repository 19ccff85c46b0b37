//! The configuration of a command that works without a running gateway.

use std::path::{Path, PathBuf};

use gatehouse_admin::{
    Configuration, EffectiveView, FamilyDefaultsFile, ForgottenDefaults, OperationError, PriceCause,
    ReloadView, StagedDefaults,
};
use gatehouse_model::About;

use super::staged::{Staged, defaults_of, effective_view, effects, misconfigured, no_defaults};
use crate::config::{FamilyDefaults, Loaded, Location, check_own, forget_defaults, load_with};

/// The files of a gateway that does not run.
pub(crate) struct OfflineConfiguration {
    location: Location,
    root: PathBuf,
}

impl OfflineConfiguration {
    /// For the data folder `root`.
    pub(crate) fn new(location: &Location, root: &Path) -> Self {
        Self { location: location.clone(), root: root.to_owned() }
    }

    fn load_with(&self, brought: FamilyDefaults) -> Result<Loaded, OperationError> {
        load_with(&self.location, Some(brought)).map_err(misconfigured)
    }

    /// The same where all of it has to be usable, but for what was not usable `before`.
    fn load_whole(&self, brought: FamilyDefaults, before: Option<&Loaded>) -> Result<Loaded, OperationError> {
        self.load_with(brought)?.whole_but_for(before).map_err(misconfigured)
    }
}

impl Configuration for OfflineConfiguration {
    fn effective(&self) -> Result<EffectiveView, OperationError> {
        let loaded = load_with(&self.location, None).map_err(misconfigured)?;
        effective_view(&loaded, Vec::new())
    }

    fn reload(&self, _: &PriceCause) -> Result<ReloadView, OperationError> {
        let why = "no gateway runs on this data folder; it reads its configuration when it starts";
        Err(OperationError::Refused(why.to_owned()))
    }

    fn draft(&self, defaults: &FamilyDefaultsFile) -> Result<gatehouse_runtime::Config, OperationError> {
        let loaded = self.load_with(defaults_of(defaults, None))?;
        Ok(loaded.with_every_family().config.runtime(self.root.clone()))
    }

    fn stage<'a>(
        &'a self,
        about: &About,
        defaults: &FamilyDefaultsFile,
        _: &PriceCause,
    ) -> Result<Box<dyn StagedDefaults + 'a>, OperationError> {
        // Without the defaults the operator's part alone may be incomplete: all of them are new then.
        let before = load_with(&self.location, None).ok();
        let after = self.load_whole(defaults_of(defaults, Some(&about.family)), before.as_ref())?;
        check_own(before.as_ref(), &after, about).map_err(misconfigured)?;
        let effects = effects(before.as_ref(), &after, &about.family);
        let config = after.config.runtime(self.root.clone());
        // The gateway reads them when it starts.
        Ok(Staged::new(&self.root, defaults, config, effects, || ()))
    }

    fn forget<'a>(&'a self, family: &str, _: &PriceCause) -> Result<ForgottenDefaults<'a>, OperationError> {
        let before = load_with(&self.location, None).ok();
        let after = self.load_whole(no_defaults(family), before.as_ref())?;
        let effects = effects(before.as_ref(), &after, family);
        let family = family.to_owned();
        let forget = move || forget_defaults(&self.root, &family);
        Ok(ForgottenDefaults { effects, forget: Box::new(forget) })
    }
}
