//! A deployment that is over, before the history has its report.

use gatehouse_model::Digest;
use gatehouse_runtime::{DeployError, DeployReport};
use gatehouse_tasks::DeploymentKind;

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
        Self::new(DeploymentKind::Install, Some(digest), family, outcome)
    }

    /// Why it was refused, if it was.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.outcome.as_ref().err().map(|refused| format!("family {} is not served: {refused}", self.family))
    }

    pub(super) fn new(
        kind: DeploymentKind,
        digest: Option<Digest>,
        family: &str,
        outcome: Result<DeployReport, DeployError>,
    ) -> Self {
        Self { kind, digest, family: family.to_owned(), outcome }
    }
}
