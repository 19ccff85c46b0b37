//! The history of deployments: what was deployed when, by whom, and what every stage found.
//!
//! A report is written after the switch it tells of, because a switch waits for no disk. What a crash lost, and what happened
//! without the admin service, is found from the list of versions: by the next start, or after a rollback of a canary.
//! Owns the search for what is missing; reads and writes the store.

use std::sync::Arc;

use gatehouse_model::{Clock, Digest};
use gatehouse_runtime::{
    DeployError, DeployReport, PluginService, StageReport, StageVerdict, VersionState, VersionSummary,
};
use gatehouse_store::{Durability, Store};
use gatehouse_tasks::{
    Command, DeploymentKind, DeploymentOutcome, DeploymentRecord, MAX_DEPLOYMENTS, OperatorRecord,
    StageRecord,
};
use tokio::sync::Mutex;

use crate::api::error::OperationError;
use crate::api::plugin::{DeployedView, DeploymentView, StageView};
use crate::api::system::DefaultView;
use crate::service::configuration::Deployed;
use crate::service::price_history::present;

/// Rows of one page that are read at a time.
const PAGE: usize = 200;

/// Keeps reports of deployments.
pub struct Deployments {
    store: Store,
    /// Those of a running gateway.
    plugins: Option<PluginService>,
    clock: Arc<dyn Clock>,
    /// Held while reports that are missing are looked up and written: two at once would each write the same.
    missing_reports: Mutex<()>,
}

impl Deployments {
    pub(in crate::service) fn new(
        store: Store,
        plugins: Option<PluginService>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, plugins, clock, missing_reports: Mutex::default() }
    }

    /// One report.
    pub(crate) async fn get(&self, number: u64) -> Result<DeploymentView, OperationError> {
        let found = self.store.deployment(number).await?.map(DeploymentView::from);
        found.ok_or_else(|| {
            let why = format!("no deployment {number}; the last {MAX_DEPLOYMENTS} are kept");
            OperationError::NotFound(why)
        })
    }

    /// Keeps the report of a deployment. It is over by now: what cannot be kept is logged.
    pub(in crate::service) async fn keep(&self, deployed: &Deployed) {
        let Deployed { kind, digest, family, outcome } = deployed;
        let mut row = self.new_row(*kind);
        (row.digest, row.family) = (*digest, family.clone());
        match outcome {
            Ok(report) => {
                let switched = report.replaced.is_some() || !was_active(report);
                row.outcome =
                    if switched { DeploymentOutcome::Switched } else { DeploymentOutcome::Unchanged };
                row.family.clone_from(&report.about.family);
                row.version.clone_from(&report.about.version);
                (row.digest, row.replaced) = (Some(report.digest), report.replaced);
                row.stages = stages(&report.stages);
            }
            Err(refused) => {
                row.outcome = DeploymentOutcome::Refused;
                row.reason = refused.to_string();
                if let Some((family, version)) = refused.version.clone() {
                    (row.family, row.version) = (family, version);
                }
                row.stages = stages(&refused.stages);
            }
        }
        self.keep_row(row).await;
    }

    /// Keeps the report and answers with it.
    pub(super) async fn answer(
        &self,
        kind: DeploymentKind,
        digest: Option<Digest>,
        family: &str,
        outcome: Result<DeployReport, DeployError>,
        defaults: Vec<DefaultView>,
    ) -> Result<DeployedView, OperationError> {
        let deployed = Deployed { kind, digest, family: family.to_owned(), outcome };
        self.keep(&deployed).await;
        Ok(DeployedView::of(deployed.outcome.map_err(refused)?, "serves", defaults))
    }

    /// What a start deployed by itself; then every version that serves although no report says so, and every canary that was
    /// rolled back without one.
    pub async fn keep_first(&self, built_in: Vec<Deployed>) {
        for deployed in &built_in {
            self.keep(deployed).await;
        }
        self.keep_found(true).await;
    }

    /// Canaries that were rolled back and have no report yet.
    pub async fn keep_rollbacks(&self) {
        self.keep_found(false).await;
    }

    async fn keep_found(&self, at_start: bool) {
        let Some(plugins) = &self.plugins else { return };
        let _alone = self.missing_reports.lock().await;
        if let Err(error) = self.try_keep_found(plugins, at_start).await {
            tracing::error!(%error, "deployments could not be looked up");
        }
    }

    async fn try_keep_found(&self, plugins: &PluginService, at_start: bool) -> Result<(), OperationError> {
        let known = self.all_deployments().await?;
        let versions = plugins.list();
        let active = |family: &str| {
            versions.iter().find(|one| one.family == family && matches!(one.state, VersionState::Active(_)))
        };
        let mut missing = Vec::new();
        for version in &versions {
            let VersionState::RolledBack { at, reason } = &version.state else { continue };
            let is_known = known.iter().any(|row| {
                row.kind == DeploymentKind::Canary && row.replaced == Some(version.digest) && row.at == *at
            });
            if !is_known {
                let serves = active(&version.family).unwrap_or(version);
                let row = self.new_row(DeploymentKind::Canary);
                let (replaced, reason) = (Some(version.digest), reason.clone());
                missing.push(DeploymentRecord { at: *at, replaced, reason, ..described(row, serves) });
            }
        }
        missing.sort_by_key(|row| row.at);
        for version in versions.iter().filter(|_| at_start) {
            let VersionState::Active(since) = version.state else { continue };
            let told = missing.iter().rev().chain(&known).filter(|row| row.family == version.family);
            let last = told.filter_map(DeploymentRecord::serves).next();
            if last != Some(version.digest) {
                let row = self.new_row(DeploymentKind::Found);
                missing.push(DeploymentRecord { at: since, replaced: last, ..described(row, version) });
            }
        }
        for row in missing {
            self.keep_row(row).await;
        }
        Ok(())
    }

    /// Every report that is kept, newest first.
    async fn all_deployments(&self) -> Result<Vec<DeploymentRecord>, OperationError> {
        let (mut rows, mut before) = (Vec::new(), None);
        loop {
            // A page may have fewer rows than it was asked for and still a next one.
            let page = self.store.list_deployments(None, before, PAGE).await?;
            rows.extend(page.rows);
            before = page.next;
            if before.is_none() {
                return Ok(rows);
            }
        }
    }

    fn new_row(&self, kind: DeploymentKind) -> DeploymentRecord {
        DeploymentRecord {
            number: 0,
            at: self.clock.now(),
            who: present(),
            kind,
            outcome: DeploymentOutcome::Switched,
            family: String::new(),
            version: String::new(),
            digest: None,
            replaced: None,
            reason: String::new(),
            stages: Vec::new(),
        }
    }

    async fn keep_row(&self, row: DeploymentRecord) {
        let (family, digest) = (row.family.clone(), row.digest);
        let record = Box::new(OperatorRecord::Deployment(row));
        // The deployment is done: its report waits for a store that cannot write now.
        let command = Command::KeepRecord { record };
        match self.store.execute_when_free(command, Durability::Immediate).await {
            Ok(Ok(_)) => {}
            Ok(Err(rejection)) => {
                tracing::error!(family, ?digest, %rejection, "the report of a deployment was not kept");
            }
            Err(error) => tracing::error!(family, ?digest, %error, "the report of a deployment was not kept"),
        }
    }
}

/// Whether the version served already: it skipped the switch.
fn was_active(report: &DeployReport) -> bool {
    report.stages.iter().any(|stage| stage.name == "switch" && stage.verdict == StageVerdict::Skipped)
}

fn described(row: DeploymentRecord, version: &VersionSummary) -> DeploymentRecord {
    DeploymentRecord {
        family: version.family.clone(),
        version: version.version.clone(),
        digest: Some(version.digest),
        ..row
    }
}

fn stages(stages: &[StageReport]) -> Vec<StageRecord> {
    let record = |stage: &StageReport| {
        let StageView { stage, verdict, took_ms, note } = stage.into();
        StageRecord { stage, verdict: verdict.as_str().to_owned(), took_ms, note }
    };
    stages.iter().map(record).collect()
}

/// What is said of a deployment that a stage refused.
pub(super) fn refused(refused: DeployError) -> OperationError {
    let stages = refused.stages.iter().map(StageView::from).collect();
    OperationError::PluginRefused { reason: refused.to_string(), stages }
}
