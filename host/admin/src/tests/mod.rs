//! The admin API over real sockets and on a real store: one file each for the JSON, the listener and the
//! operations.

mod client;
mod http;
mod limits;
mod listener;
mod service;
mod sessions;
mod support;
mod tls;
mod usage;

use std::sync::Arc;

use gatehouse_harness::{TestClock, TestSeed};
use gatehouse_model::Pepper;
use gatehouse_store::Store;
use tempfile::TempDir;

use crate::{
    AdminParts, AdminService, AdminTls, ApiRequest, Backend, BackupProgress, BackupView, Backups, Config,
    Configuration, EffectiveView, FamilyDefaultsFile, ForgottenDefaults, OperationError, PriceCause,
    ReloadView, StagedDefaults, Token,
};

/// A request that shows one customer.
fn show(customer: &str) -> ApiRequest {
    ApiRequest::get(&["customers", customer])
}

/// What keys are digested under.
const PEPPER: [u8; 32] = [7; 32];

/// A service on a fresh store, without a running gateway. The folder lives as long as the caller keeps it.
fn service() -> (AdminService, TempDir) {
    let (parts, folder) = parts();
    (AdminService::new(parts), folder)
}

fn parts() -> (AdminParts, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("core.redb"), &gatehouse_store::Config::default()).unwrap();
    let plugins = gatehouse_runtime::Config::new(folder.path().to_owned());
    let parts = AdminParts {
        store,
        backend: Backend::Offline(Box::new(plugins)),
        configuration: Arc::new(Fixed(folder.path().to_owned())),
        backups: Arc::new(NoBackups),
        server: None,
        pepper: Pepper::new(PEPPER),
        clock: TestClock::skipping_pauses_at(1_000),
        seed: Arc::new(TestSeed::default()),
    };
    (parts, folder)
}

/// Makes none.
struct NoBackups;

impl Backups for NoBackups {
    fn make(&self, _: &Store, to: &str, _: &BackupProgress) -> Result<BackupView, OperationError> {
        Err(OperationError::Invalid(format!("to: {to} is of no use")))
    }
}

/// A configuration with an error, and one without.
struct Fixed(std::path::PathBuf);

impl Configuration for Fixed {
    fn effective(&self) -> Result<EffectiveView, OperationError> {
        let values = serde_json::json!({"prices": {"a": "1"}});
        Ok(EffectiveView { values: values.as_object().cloned().unwrap_or_default(), needs_restart: vec![] })
    }

    fn reload(&self, _: &PriceCause) -> Result<ReloadView, OperationError> {
        let changed = vec!["prices.a".to_owned()];
        match self.0.join("wrong").exists() {
            true => Err(OperationError::Misconfigured("gatehouse.toml:1:1: wrong".to_owned())),
            false => Ok(ReloadView { changed, ..ReloadView::default() }),
        }
    }

    fn draft(&self, _: &FamilyDefaultsFile) -> Result<gatehouse_runtime::Config, OperationError> {
        Ok(gatehouse_runtime::Config::new(self.0.clone()))
    }

    fn stage<'a>(
        &'a self,
        about: &gatehouse_model::About,
        _: &FamilyDefaultsFile,
        _: &PriceCause,
    ) -> Result<Box<dyn StagedDefaults + 'a>, OperationError> {
        Err(OperationError::Refused(format!("{} brings nothing", about.family)))
    }

    fn forget<'a>(&'a self, _: &str, _: &PriceCause) -> Result<ForgottenDefaults<'a>, OperationError> {
        Ok(ForgottenDefaults { effects: Vec::new(), forget: Box::new(|| Ok(())) })
    }
}

fn token(fill: u8) -> Token {
    Token::mint(&TestSeed::constant(fill))
}

#[test]
fn a_remote_listener_must_be_allowed() {
    let remote = Config { listen: "0.0.0.0:9090".parse().unwrap(), ..Config::default() };
    let (key, message) = remote.check().unwrap_err();
    assert_eq!(key, "listen");
    assert!(message.contains("allow_remote"), "{message}");
    let file = || "x".into();
    let tls = Some(AdminTls { certificate: file(), key: file(), client_ca: file() });
    assert!(Config { tls, ..remote.clone() }.check().is_ok());
    assert!(Config { allow_remote: true, ..remote }.check().is_ok());
    assert!(Config::default().check().is_ok());
}
