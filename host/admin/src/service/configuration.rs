//! The operator's configuration, as operations need it. The gateway that reads the files implements this.

use gatehouse_model::{About, Digest};
use gatehouse_runtime::{Companion, DeployError, DeployReport};
use gatehouse_tasks::DeploymentKind;

use crate::api::error::OperationError;
use crate::api::system::{DefaultView, EffectiveView, FamilyDefaultsFile, ReloadView};
use crate::service::price_history::{PriceCause, PriceHistory};

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

/// A deployment before the history has it.
pub struct Deployed {
    pub(super) kind: DeploymentKind,
    pub(super) digest: Option<Digest>,
    pub(super) family: String,
    pub(super) outcome: Result<DeployReport, DeployError>,
}

impl Deployed {
    /// A component that came with the gateway.
    #[must_use]
    pub fn built_in(family: &str, digest: Digest, outcome: Result<DeployReport, DeployError>) -> Self {
        let (kind, digest) = (DeploymentKind::Install, Some(digest));
        Self { kind, digest, family: family.to_owned(), outcome }
    }

    /// Why it was refused, if it was.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.outcome.as_ref().err().map(|refused| format!("family {} is not served: {refused}", self.family))
    }
}
