//! An admin listener with a console, over a store with one customer and a clock in the test's hands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_admin::{
    AdminParts, AdminServer, AdminService, ApiRequest, Backend, BackupProgress, BackupView, Backups, Config,
    Configuration, EffectiveView, FamilyDefaultsFile, LocalApi, OperationError, PriceCause, Probes,
    ReloadView, Revealed, Role, StagedDefaults, Token, Tokens,
};
use gatehouse_harness::{TestClock, TestSeed};
use gatehouse_model::{Credits, Key, KeyId, Pepper};
use gatehouse_net::{ConnectionLimits, HandshakeLimits};
use gatehouse_store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Browser;
use crate::{Facts, Pages, SandboxSecrets};

/// When the scene begins: 2026, so that moments look like moments.
pub(super) const START: u64 = 1_790_000_000_000;
/// What keys are digested under.
pub(super) const PEPPER: [u8; 32] = [7; 32];

/// The listener and what it stands on.
pub(super) struct Scene {
    pub(super) server: AdminServer,
    pub(super) service: Arc<AdminService>,
    pub(super) clock: Arc<TestClock>,
    pub(super) token: Token,
    pub(super) folder: TempDir,
}

/// Makes none: no page asks for one.
struct NoBackups;

impl Backups for NoBackups {
    fn make(&self, _: &Store, _: &str, _: &BackupProgress) -> Result<BackupView, OperationError> {
        Err(OperationError::Refused("there are no backups here".to_owned()))
    }
}

/// A listener with the customer `known`, which has 10 credits.
pub(super) async fn start() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("core.redb"), &gatehouse_store::Config::default()).unwrap();
    let clock = TestClock::at(START);
    let service = Arc::new(AdminService::new(parts(
        store,
        folder.path(),
        clock.clone(),
        Arc::new(TestSeed::default()),
    )));
    let limits = ConnectionLimits {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        write: Duration::from_secs(60),
        head_bytes: 64 * 1024,
        headers: 128,
        streams: 1,
        header_list_bytes: 16 * 1024,
    };
    let handshakes = HandshakeLimits { time: Duration::from_secs(5), at_once: 4 };
    let probes = Probes { metrics: Box::new(String::new), is_ready: Box::new(|| true) };
    let token = Token::mint(&TestSeed::constant(9));
    let tokens = Tokens { operator: token.clone(), viewer: Token::mint(&TestSeed::constant(8)) };
    let config = Config::default();
    let server =
        AdminServer::start(&config, limits, handshakes, tokens, Arc::clone(&service), probes, clock.clone());
    let server = server.unwrap();
    let sandbox =
        SandboxSecrets { wrapped: Revealed("sk-wrapped".to_owned()), bare: Revealed("sk-bare".to_owned()) };
    let facts = Facts {
        public_url: "http://127.0.0.1:8080".to_owned(),
        identity_provider: Some("id.example".to_owned()),
        sandbox: Some(sandbox),
    };
    server.show(Pages::new(Arc::clone(&service), Arc::clone(server.sessions()), facts).console());
    let scene = Scene { server, service, clock, token, folder };
    scene.open("known", 10 * Credits::UNIT).await;
    scene
}

/// A scene, and a browser that has logged in to it.
pub(super) async fn logged_in(role: Role) -> (Scene, Browser) {
    let scene = start().await;
    let browser = scene.logged_in(role).await;
    (scene, browser)
}

/// A service's parts, without a running gateway.
fn parts(store: Store, folder: &Path, clock: Arc<TestClock>, seed: Arc<TestSeed>) -> AdminParts {
    AdminParts {
        store,
        backend: Backend::Offline(Box::new(gatehouse_runtime::Config::new(folder.to_owned()))),
        configuration: Arc::new(Fixed(folder.to_owned())),
        backups: Arc::new(NoBackups),
        server: None,
        pepper: Pepper::new(PEPPER),
        clock,
        seed,
    }
}

impl Scene {
    /// Has the API make something in this process; its answer.
    pub(super) async fn make(&self, path: &[&str], body: Value) -> Value {
        let api = LocalApi::new(Arc::clone(&self.service), "test");
        api.send(ApiRequest::post(path).json(&body)).await.unwrap().body
    }

    /// Opens a customer with this much credit.
    pub(super) async fn open(&self, id: &str, micro: i64) {
        self.make(&["customers"], json!({"id": id})).await;
        if micro > 0 {
            self.make(&["customers", id, "deposits"], json!({"amount_micro": micro})).await;
        }
    }

    /// Takes back credits of the customer `known`.
    pub(super) async fn withdraw(&self, micro: i64, memo: &str) {
        let body = json!({"amount_micro": micro, "memo": memo});
        self.make(&["customers", "known", "withdrawals"], body).await;
    }

    /// A key of the customer `known`.
    pub(super) async fn key(&self, name: &str) -> KeyId {
        let made = self.make(&["keys"], json!({"customer": "known", "name": name})).await;
        KeyId::from(made["key"]["id"].as_str().unwrap())
    }

    /// The row of a key.
    pub(super) fn row(&self, key: &KeyId) -> Key {
        gatehouse_sample::at_once(self.service.store.key(key)).unwrap().unwrap()
    }

    /// The same service with secrets of its own: those of one service repeat after a while.
    pub(super) fn service_of_seed(&self, seed: u8) -> AdminService {
        let (store, seed) = (self.service.store.clone(), Arc::new(TestSeed::constant(seed)));
        AdminService::new(parts(store, self.folder.path(), self.clock.clone(), seed))
    }

    /// A browser that has not logged in.
    pub(super) fn browser(&self) -> Browser {
        Browser::new(self.server.address())
    }

    /// The token of a new link.
    pub(super) fn link(&self, role: Role) -> String {
        let link = self.server.sessions().new_link(role);
        link.urls[0].0.split_once("/login#").unwrap().1.to_owned()
    }

    /// A browser that has.
    pub(super) async fn logged_in(&self, role: Role) -> Browser {
        let mut browser = self.browser();
        let answer = browser.post("/session", &format!("token={}", self.link(role))).await;
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{}", answer.text());
        browser
    }
}

/// A configuration with an error, and one without.
struct Fixed(PathBuf);

impl Configuration for Fixed {
    fn effective(&self) -> Result<EffectiveView, OperationError> {
        Ok(EffectiveView { values: serde_json::Map::new(), needs_restart: vec![] })
    }

    fn reload(&self, _: &PriceCause) -> Result<ReloadView, OperationError> {
        match self.0.join("wrong").exists() {
            true => Err(OperationError::Misconfigured("gatehouse.toml:1:1: wrong".to_owned())),
            false => Ok(ReloadView { changed: vec!["prices.a".to_owned()], ..ReloadView::default() }),
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

    fn forget<'a>(
        &'a self,
        _: &str,
        _: &PriceCause,
    ) -> Result<gatehouse_admin::ForgottenDefaults<'a>, OperationError> {
        Err(OperationError::Refused("nothing is uninstalled here".to_owned()))
    }
}
