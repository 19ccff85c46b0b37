//! SIGKILL at every step of a task that a request joins and that claims a name. Afterwards the request was delivered
//! once and paid once, or the task failed and cost nothing; and each name has the one owner that the end of its task
//! says.
//!
//! The provider says where the gateway is: each step waits for an answer that the test holds back. Between the steps
//! the moment is random; `GATEHOUSE_KILLS` asks for more of those.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use gatehouse_harness::{
    Caller, Gateway, Response, message_of, puppet_claiming, run, serve_http, try_send, until,
};
use gatehouse_sandbox::Sandbox;
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::lifecycle::{sandbox, setting, setup};

const QUILTS: &str = "/v1/images/generations";
const PATCHES: &str = "/v1/videos/generations";
/// What a task costs, and what the request that joins it adds, in micro-credits.
const PRICE: i64 = 2_000_000;
const DEPOSIT: i64 = 1_000_000_000;
/// One pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Where the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The receipt has come; the call may be on its way.
    Receipt,
    /// The provider has the task's call, and does not answer.
    Making,
    /// The task shows what it has, and waits.
    Resting,
    /// The receipt of the joining request has come.
    Joined,
    /// The provider has the call about the request that joined.
    Patching,
    /// The result is being copied; the name is not claimed yet.
    Copying,
    /// The task has ended.
    Over,
    /// So many polls of the test's runtime after the joining request was sent.
    Anywhere(u32),
}

const STEPS: [Step; 7] =
    [Step::Receipt, Step::Making, Step::Resting, Step::Joined, Step::Patching, Step::Copying, Step::Over];

/// The provider: it keeps every path it was called at, and answers all but the one that is held back.
struct Trap {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    held: watch::Sender<String>,
}

impl Trap {
    async fn start() -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let held = watch::Sender::new(String::new());
        let (log, gate) = (Arc::clone(&seen), held.clone());
        let address = serve_http(move |request: hyper::Request<Incoming>| {
            let (log, mut gate) = (Arc::clone(&log), gate.subscribe());
            async move {
                let path = request.uri().path().to_owned();
                log.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
                let _ = gate.wait_for(|held| *held != path).await;
                let (kind, body) = if path.starts_with("/picture") {
                    ("image/png", STANDARD.decode(PICTURE).expect("a picture"))
                } else {
                    ("application/json", b"{}".to_vec())
                };
                let answer = hyper::Response::builder().header("content-type", kind);
                answer.body(Full::<Bytes>::new(body.into())).expect("an answer")
            }
        })
        .await;
        Self { address, seen, held }
    }

    fn hold(&self, path: &str) {
        self.held.send_replace(path.to_owned());
    }

    /// How often it was called there.
    fn calls(&self, path: &str) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|one| *one == path).count()
    }

    async fn called(&self, path: &str) {
        until(&format!("the provider is called at {path}"), async || self.calls(path) > 0).await;
    }
}

struct Scene {
    gateway: Gateway,
    owner: Caller,
    rival: Caller,
    trap: Trap,
    _sandbox: Sandbox,
}

impl Scene {
    async fn start() -> Self {
        let (sandbox, trap) = (sandbox(Duration::ZERO).await, Trap::start().await);
        let origin = format!("http://{}", trap.address);
        let setup = setup(&sandbox).with("[prices]\npuppet = \"2\"\n\n");
        let setup = setup.with_provider("trap", &origin, "\"bearer\"", 1000, &["main"]);
        let gateway = Gateway::start(setup.with_inherited_socket()).await;
        let claims = json!({
            "providers": ["trap"],
            "price_keys": ["puppet"],
            "models": [{"id": "puppet-1", "aliases": [], "surfaces": ["images.generate", "videos.generate"]}],
            "surfaces": [
                {"name": "images.generate", "schema": {"type": "object"}, "names": [{"scheme": "asset"}]},
                {"name": "videos.generate", "schema": {"type": "object"}, "parent": {"field": "joins"}, "joins": true},
            ],
        });
        let component = gateway.folder().join("component.wasm");
        std::fs::write(&component, puppet_claiming(&claims)).expect("a file");
        gateway.command(&["plugin", "install", &component.display().to_string()]).await;
        let owner = gateway.open_account("owner", "1000").await;
        let rival = gateway.open_account("rival", "1000").await;
        Self { gateway, owner, rival, trap, _sandbox: sandbox }
    }

    async fn kill(&mut self) {
        self.gateway.crash().await;
        self.trap.hold("");
    }

    /// Kills at that step of a task with that number; what the owner has paid for it in the end.
    async fn task(&mut self, step: Step, number: usize) -> i64 {
        let path = |name: &str| format!("/{name}/{number}");
        let held = match step {
            Step::Making => path("make"),
            Step::Patching => path("patch"),
            Step::Copying => path("picture"),
            _ => String::new(),
        };
        self.trap.hold(&held);
        let name = format!("asset://{number}");
        let first = self.owner.post(QUILTS, &quilt(self.trap.address, number, &name)).await;
        let id = first.task_id();
        let patch = json!({
            "model": "puppet-1", "joins": id, "script": {"submit": {"brief": format!("patch {number}.")}},
        });
        let (address, mut joined) = (self.gateway.public, false);
        match step {
            Step::Receipt => self.kill().await,
            Step::Making => {
                self.trap.called(&held).await;
                self.kill().await;
            }
            _ => {}
        }
        if matches!(step, Step::Receipt | Step::Making) {
            joined = joins(address, &self.owner, &patch, number).await;
        } else {
            // It rests once its plugin has shown something.
            let shown = async || self.owner.task(&id).await.get("result").is_some();
            until("the task shows what it has", shown).await;
            if step == Step::Resting {
                self.kill().await;
            }
            if let Step::Anywhere(moment) = step {
                let (owner, patch) = (self.owner.clone(), patch.clone());
                let sent = tokio::spawn(async move { joins(address, &owner, &patch, number).await });
                for _ in 0..moment {
                    tokio::task::yield_now().await;
                }
                self.kill().await;
                joined = sent.await.expect("no panic");
            } else {
                joined |= joins(address, &self.owner, &patch, number).await;
            }
            match step {
                Step::Joined => self.kill().await,
                Step::Patching | Step::Copying => {
                    self.trap.called(&held).await;
                    self.kill().await;
                }
                Step::Over => {
                    self.owner.end_of(&id).await;
                    self.kill().await;
                }
                _ => {}
            }
        }
        let task = self.owner.end_of(&id).await;
        assert!(self.trap.calls(&path("make")) <= 1, "{step:?}: {task}");
        let is_completed = task["status"] == "completed";
        self.expect_owner(if is_completed { "owner" } else { "rival" }, &name).await;
        if !is_completed {
            // Only a call whose answer nobody has ends a task like that.
            assert!(matches!(step, Step::Receipt | Step::Making), "{step:?}: {task}");
            assert!(message_of(&task).contains("restarted"), "{task}");
            assert_eq!(task["cost"], 0.0, "{step:?}: {task}");
            return 0;
        }
        assert!(joined, "{step:?}: {task}");
        // The token stands for its first receipt, although nothing can join the task any more.
        assert!(joins(address, &self.owner, &patch, number).await, "{step:?}: {task}");
        assert_eq!(task["cost"], 4.0, "{step:?}: {task}");
        let seen = task["result"]["seen"].as_str().unwrap_or_else(|| panic!("{step:?}: {task}"));
        let told = format!("Joined with patch {number}.");
        assert_eq!(seen.matches(&told).count(), 1, "{step:?}: {seen}");
        // The call says that it is recognised when it comes again.
        let (patches, again) = (self.trap.calls(&path("patch")), step == Step::Patching);
        assert!(
            patches == 1 || again || matches!(step, Step::Anywhere(_) | Step::Joined),
            "{step:?}: {patches}"
        );
        assert!(patches <= 2, "{step:?}: {patches}");
        2 * PRICE
    }

    /// The other customer claims the name, too; one of the two has it then.
    async fn expect_owner(&self, owner: &str, name: &str) {
        let claim = json!({"model": "puppet-1", "script": {"steps": [
            {"done": {"public": {}, "claims": [{"name": name, "private": {"of": "rival"}}]}},
        ]}});
        let theft = self.rival.end_of(&self.rival.post(QUILTS, &claim).await.task_id()).await;
        let expected = if owner == "rival" { ("completed", 2.0) } else { ("failed", 0.0) };
        assert_eq!((theft["status"].as_str(), theft["cost"].as_f64()), (Some(expected.0), Some(expected.1)));
        let follow = json!({"model": "puppet-1", "uses": name, "script": {}});
        for (who, caller) in [("owner", &self.owner), ("rival", &self.rival)] {
            let task = caller.end_of(&caller.post(QUILTS, &follow).await.task_id()).await;
            let seen = task["result"]["seen"].as_str().unwrap_or_else(|| panic!("{task}"));
            let is_known = seen.contains(&format!("name: {name:?}"));
            assert_eq!(is_known, who == owner, "{name} of {owner}, seen by {who}: {seen}");
        }
    }
}

/// A task that shows a view, waits for a request to join it, calls its provider, and ends with a file and a name.
fn quilt(trap: SocketAddr, number: usize, name: &str) -> Value {
    let call = |path: &str, replay: &str| json!({"call": {"path": format!("/{path}/{number}"), "json": {"token": number}, "replay": replay}});
    let picture = format!("http://{trap}/picture/{number}");
    json!({"model": "puppet-1", "script": {
        "submit": {"brief": "a quilt"},
        "steps": [
            call("make", "once"),
            {"view": {"public": {"so": "far"}, "private": {}}, "wait": 3_600_000},
            call("patch", "token"),
            {"done": {
                "public": {"seen": {"$seen": 0}, "file": "media:0"},
                "products": [{"source": picture}],
                "claims": [{"name": name, "private": {"of": "owner"}}],
            }},
        ],
    }})
}

/// Sends the request under one token until there is an answer; whether it joined.
async fn joins(address: SocketAddr, owner: &Caller, patch: &Value, number: usize) -> bool {
    let answer: Response = loop {
        let (bearer, token) = (owner.bearer(), format!("patch-{number}"));
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", token.as_str()),
        ];
        if let Ok(answer) = try_send(address, "POST", PATCHES, &headers, patch.to_string().into()).await {
            break answer;
        }
    };
    assert!(matches!(answer.status, 200 | 409), "{}", answer.text());
    answer.status == 200
}

#[test]
fn a_joined_task_and_its_name_survive_a_kill_at_every_step() {
    run(async {
        let mut scene = Scene::start().await;
        let mut random = fastrand::Rng::with_seed(setting("GATEHOUSE_SEED", 20_262) as u64);
        let anywhere = (0..setting("GATEHOUSE_KILLS", 8)).map(|_| Step::Anywhere(random.u32(0..2_000)));
        let steps: Vec<Step> = STEPS.into_iter().chain(anywhere).collect();
        let mut spent = 0;
        for (number, step) in steps.iter().enumerate() {
            spent += scene.task(*step, number).await;
            // What follows up a name costs its owner as much as any task.
            spent += PRICE;
            let account = scene.gateway.account_without_holds("owner").await;
            assert_eq!(
                (account["spent"].as_i64(), account["available"].as_i64()),
                (Some(spent), Some(DEPOSIT - spent)),
                "{step:?}: {account}"
            );
            scene.gateway.expect_sound_ledger().await;
        }
    });
}
