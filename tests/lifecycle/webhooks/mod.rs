//! Webhooks of the real binary: SIGKILL while a delivery is on its way loses no event and repeats it under its id only; a
//! redirect is not followed, a receiver that is gone is left alone, and no secret is written where it could be read.

mod callbacks;
mod operators;
mod own;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gatehouse_harness::{Caller, Gateway, Setup, binary, run, serve_http, until};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};

/// An event as it came.
#[derive(Clone)]
pub(in crate::lifecycle) struct Arrival {
    path: String,
    id: String,
    headers: HeaderMap,
    pub(in crate::lifecycle) body: Bytes,
}

/// What the receiver does next with an event, by how often its id came.
#[derive(Clone, Copy)]
pub(in crate::lifecycle) enum Answer {
    Status(u16),
    /// Never.
    Hang,
}

/// A receiver in the test's hands.
#[derive(Clone, Default)]
pub(in crate::lifecycle) struct Receiver {
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Receiver {
    /// Starts it; `answer` decides by path and by how often that id came before.
    pub(in crate::lifecycle) async fn start(answer: fn(&str, usize) -> Answer) -> (Self, SocketAddr) {
        let receiver = Self::default();
        let keeper = receiver.clone();
        let address = serve_http(move |request: Request<Incoming>| {
            let keeper = keeper.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                let id = head.headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
                let (path, id) = (head.uri.path().to_owned(), id.to_owned());
                let before = keeper.times(&id);
                let arrival = Arrival { path: path.clone(), id, headers: head.headers, body };
                keeper.arrivals.lock().expect("no panic").push(arrival);
                match answer(&path, before) {
                    Answer::Status(status) => {
                        let response = Response::builder().status(status).header("location", "/elsewhere");
                        response.body(Full::new(Bytes::new())).expect("a status")
                    }
                    Answer::Hang => std::future::pending().await,
                }
            }
        })
        .await;
        (receiver, address)
    }

    pub(in crate::lifecycle) fn all(&self) -> Vec<Arrival> {
        self.arrivals.lock().expect("no panic").clone()
    }

    fn times(&self, id: &str) -> usize {
        self.all().iter().filter(|arrival| arrival.id == id).count()
    }
}

/// In sandbox mode, since the receiver speaks plain HTTP.
async fn start(receiver: SocketAddr) -> (Gateway, Caller) {
    start_with(receiver, "").await
}

pub(in crate::lifecycle) async fn start_with(receiver: SocketAddr, more: &str) -> (Gateway, Caller) {
    let setup = Setup::sandbox_mode(&binary(env!("CARGO_BIN_EXE_gatehouse")));
    let setup = setup.with(&format!("[webhooks]\nallow_private = [\"{receiver}\"]\n\n{more}"));
    let gateway = Gateway::start(setup).await;
    let caller = gateway.open_account("acme", "1000").await;
    (gateway, caller)
}

async fn result(gateway: &Gateway, arguments: &[&str]) -> Value {
    gateway.json(&[&["webhook"], arguments].concat()).await
}

/// Makes a webhook; its id and secret.
pub(in crate::lifecycle) async fn webhook(gateway: &Gateway, url: &str) -> (String, String) {
    let made = result(gateway, &["create", url, "--account", "acme"]).await;
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    (text(&made["webhook"]["id"]), text(&made["secret"]))
}

pub(in crate::lifecycle) async fn submit(caller: &Caller, prompt: &str) -> String {
    let body = json!({"model": "ctx-pro", "prompt": prompt});
    let answer = caller.post("/v1/images/generations", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.task_id()
}

#[test]
fn a_kill_loses_no_event_and_repeats_it_under_its_id() {
    run(async {
        // Each event hangs first, is refused then, and is taken at last.
        let (receiver, address) = Receiver::start(|_, before| match before {
            0 => Answer::Hang,
            1 => Answer::Status(500),
            _ => Answer::Status(204),
        })
        .await;
        let (mut gateway, caller) = start(address).await;
        let (id, secret) = webhook(&gateway, &format!("http://{address}/hook")).await;
        let mut tasks = BTreeSet::new();
        for number in 0..4 {
            tasks.insert(submit(&caller, &format!("picture {number}")).await);
        }
        for task in &tasks {
            caller.end_of(task).await;
        }
        // One is on its way and hangs; the others wait behind it.
        for kill in 1..=tasks.len() {
            until("a delivery hangs", async || {
                receiver.all().iter().map(|arrival| &arrival.id).collect::<BTreeSet<_>>().len() >= kill
            })
            .await;
            gateway.crash().await;
        }
        until("every event was taken", async || {
            let shown = result(&gateway, &["show", &id]).await;
            shown["webhook"]["pending"] == 0
        })
        .await;

        let arrivals = receiver.all();
        let verifier = standardwebhooks::Webhook::new(&secret).expect("a secret");
        let mut bodies: BTreeMap<String, Bytes> = BTreeMap::new();
        for arrival in &arrivals {
            verifier.verify(&arrival.body, &arrival.headers).expect("signed, and of this moment");
            let first = bodies.entry(arrival.id.clone()).or_insert_with(|| arrival.body.clone());
            assert_eq!(*first, arrival.body, "{}: the same bytes on every attempt", arrival.id);
        }
        let told: Vec<Value> =
            bodies.values().map(|body| serde_json::from_slice(body).expect("JSON")).collect();
        let named: Vec<String> =
            told.iter().map(|event| event["data"]["id"].as_str().expect("an id").to_owned()).collect();
        assert_eq!(named.len(), tasks.len(), "{told:?}");
        assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), tasks);
        assert!(told.iter().all(|event| event["type"] == "task.completed"), "{told:?}");
        assert!(bodies.keys().all(|id| receiver.times(id) >= 3), "each hung, was refused, and came again");

        // The secret is in no log and not in the store, as text or as its bytes.
        let raw =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &secret[6..]).expect("base64");
        assert!(!gateway.log_text().contains(&secret[6..]));
        gateway.expect_sound_ledger().await;
        assert_eq!(gateway.terminate().await, Some(0));
        let file = gateway.folder().join("data/core.redb");
        if !file.exists() {
            // The store of these tests is a database.
            gateway.command(&["store", "copy", "--to", "file"]).await;
        }
        let store = std::fs::read(file).expect("a store");
        for part in [&raw[..], &secret.as_bytes()[6..]] {
            assert!(!store.windows(part.len()).any(|found| found == part));
        }
    });
}

#[test]
fn redirects_are_failures_and_a_receiver_that_is_gone_is_left_alone() {
    run(async {
        let (receiver, address) = Receiver::start(|path, before| match (path, before) {
            ("/gone", _) => Answer::Status(410),
            ("/moved", 0) => Answer::Status(302),
            _ => Answer::Status(200),
        })
        .await;
        let (gateway, caller) = start(address).await;
        let (gone, _) = webhook(&gateway, &format!("http://{address}/gone")).await;
        let (moved, _) = webhook(&gateway, &format!("http://{address}/moved")).await;
        caller.end_of(&submit(&caller, "one").await).await;
        until("the one is disabled", async || {
            result(&gateway, &["show", &gone]).await["webhook"]["enabled"] == false
        })
        .await;
        until("the other took it", async || {
            result(&gateway, &["show", &moved]).await["deliveries"][0]["status"] == "delivered"
        })
        .await;
        let shown = result(&gateway, &["show", &moved]).await;
        let statuses: Vec<&Value> = shown["deliveries"][0]["attempts"]
            .as_array()
            .expect("attempts")
            .iter()
            .map(|attempt| &attempt["status"])
            .collect();
        assert_eq!(statuses, [302, 200]);
        caller.end_of(&submit(&caller, "two").await).await;
        until("the second is told", async || {
            receiver.all().iter().filter(|arrival| arrival.path == "/moved").count() >= 3
        })
        .await;
        let paths: BTreeMap<String, usize> =
            receiver.all().iter().fold(BTreeMap::new(), |mut all, arrival| {
                *all.entry(arrival.path.clone()).or_default() += 1;
                all
            });
        assert!(!paths.contains_key("/elsewhere") && paths["/gone"] == 1, "{paths:?}");
        let lines = gateway.audit(&[]).await;
        let disabled = |line: &Value| line["text"].as_str().is_some_and(|text| text.contains("was disabled"));
        assert_eq!(lines.iter().filter(|line| disabled(line)).count(), 1, "{lines:?}");

        // Addresses of this machine that the operator did not write out are refused when they are given.
        for url in ["http://127.0.0.1:1/", "https://169.254.169.254/", "ftp://example.com/"] {
            let (code, said) = gateway.refused(&["webhook", "create", url, "--account", "acme"]).await;
            assert_eq!(code, Some(1), "{url}: {said}");
        }
    });
}
