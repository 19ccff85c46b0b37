//! The operator's configuration, as operations need it. The gateway that reads the files implements this.

use gatehouse_model::About;
use gatehouse_runtime::Companion;

use crate::api::configuration::{DefaultView, EffectiveView, FamilyDefaultsFile, ReloadView};
use crate::api::error::OperationError;
use crate::service::deployed::Deployed;
use crate::service::money::{PriceCause, PriceHistory};

/// The configuration behind the operations. Its calls block.
pub trait Configuration: Send + Sync {
    /// Every value, secrets by their origin alone.
    ///
    /// # Errors
    /// As [`Configuration::reload`], for one that is read anew.
    fn effective(&self) -> Result<EffectiveView, OperationError>;

    /// Reads it again and switches to it: all of it, or nothing.
    ///
    /// # Errors
    /// Every error found, with line and remedy; nothing has changed then.
    fn reload(&self, cause: &PriceCause) -> Result<ReloadView, OperationError>;

    /// What reloads have deployed since this was asked last: families that came with the gateway and were switched on.
    fn take_deployed(&self) -> Vec<Deployed> {
        Vec::new()
    }

    /// Versions of the price book that were switched to and wait to be written; none where nothing is ever switched.
    fn price_history(&self) -> Option<&PriceHistory> {
        None
    }

    /// The plugin runtime's configuration with the defaults of a family that is not known yet, to check its plugin under.
    ///
    /// # Errors
    /// As [`Configuration::reload`].
    fn draft(&self, defaults: &FamilyDefaultsFile) -> Result<gatehouse_runtime::Config, OperationError>;

    /// The configuration with the defaults of the family that `about` is of, ready to be switched to. No other change is possible before it is
    /// dropped.
    ///
    /// # Errors
    /// As [`Configuration::reload`], and defaults of what is not this family's own.
    fn stage<'a>(
        &'a self,
        about: &About,
        defaults: &FamilyDefaultsFile,
        cause: &PriceCause,
    ) -> Result<Box<dyn StagedDefaults + 'a>, OperationError>;

    /// The configuration without the defaults of `family`, ready to be switched to. No other change is possible before it
    /// is dropped.
    ///
    /// # Errors
    /// As [`Configuration::reload`]: the operator's own tables may need what the family brought.
    fn forget<'a>(
        &'a self,
        family: &str,
        cause: &PriceCause,
    ) -> Result<ForgottenDefaults<'a>, OperationError>;
}

/// The configuration without the defaults of a family.
pub struct ForgottenDefaults<'a> {
    /// What becomes of each of them.
    pub effects: Vec<DefaultView>,
    /// Removes them.
    pub forget: Box<dyn FnOnce() -> std::io::Result<()> + 'a>,
}

/// The defaults of a family over the present configuration.
pub trait StagedDefaults: Companion {
    /// What becomes of each of them.
    fn effects(&self) -> Vec<DefaultView>;
}
