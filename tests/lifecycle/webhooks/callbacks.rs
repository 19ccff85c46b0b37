//! `callback_url` of submissions to the real binary: one event for the end of each task, signed by the secret of its key,
//! through SIGKILL, and the same whatever the shape of the submission.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use gatehouse_harness::{Caller, Gateway, Setup, binary, run, until, until_some};
use serde_json::{Value, json};

use super::{Answer, Receiver, start};

async fn secret(caller: &Caller) -> String {
    let answer = caller.get("/v1/callbacks/secret").await.json();
    answer["data"]["secret"].as_str().expect("a secret").to_owned()
}

/// The event of each arrival, by its id.
fn told(receiver: &Receiver) -> BTreeMap<String, Value> {
    let event = |body: &Bytes| serde_json::from_slice(body).expect("JSON");
    receiver.all().iter().map(|arrival| (arrival.id.clone(), event(&arrival.body))).collect()
}

#[test]
fn a_kill_loses_no_callback_and_repeats_it_under_its_id() {
    run(async {
        let (receiver, address) = Receiver::start(|_, before| match before {
            0 => Answer::Hang,
            1 => Answer::Status(500),
            _ => Answer::Status(204),
        })
        .await;
        let (mut gateway, caller) = start(address).await;
        let url = format!("http://{address}/done?token=s3cret");
        let mut tasks = BTreeSet::new();
        for number in 0..2 {
            let body = json!({"model": "ctx-pro", "prompt": format!("{number}"), "callback_url": url});
            tasks.insert(caller.post("/v1/images/generations", &body).await.task_id());
        }
        for task in &tasks {
            caller.end_of(task).await;
        }
        for kill in 1..=tasks.len() {
            until("a delivery hangs", async || told(&receiver).len() >= kill).await;
            gateway.crash().await;
        }
        let caller = caller.at(gateway.public);
        until("each came until it was taken", async || {
            told(&receiver).len() == tasks.len() && told(&receiver).keys().all(|id| receiver.times(id) >= 3)
        })
        .await;
        for task in &tasks {
            let path = format!("/v1/tasks/{task}/callback");
            let outcome = async || caller.get(&path).await.json()["data"].take();
            until("its customer reads that it was taken", async || outcome().await["status"] == "delivered")
                .await;
        }
        let verifier = standardwebhooks::Webhook::new(&secret(&caller).await).expect("a secret");
        let mut bodies: BTreeMap<String, Bytes> = BTreeMap::new();
        for arrival in receiver.all() {
            verifier.verify(&arrival.body, &arrival.headers).expect("signed, and of this moment");
            let first = bodies.entry(arrival.id.clone()).or_insert_with(|| arrival.body.clone());
            assert_eq!(*first, arrival.body, "the same bytes on every attempt");
        }
        let named: BTreeSet<String> = told(&receiver)
            .values()
            .map(|event| event["data"]["id"].as_str().expect("an id").to_owned())
            .collect();
        assert_eq!((named, bodies.len()), (tasks.clone(), tasks.len()), "one event a task");
        assert!(!gateway.log_text().contains("s3cret"));
        gateway.expect_sound_ledger().await;
    });
}

/// A name of this machine that is neither `localhost` nor written out as an address: only resolving it tells where it leads.
fn private_name() -> String {
    let hosts = std::fs::read_to_string("/etc/hosts").expect("readable names");
    let mut names = hosts.lines().filter_map(|line| line.split('#').next()).flat_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|word| word.parse::<std::net::IpAddr>().ok());
        let is_private = address.is_some_and(|address| gatehouse_upstream::reserved(address).is_some());
        words.filter(move |_| is_private).map(str::to_owned).collect::<Vec<_>>()
    });
    let is_meant = |name: &String| name != "localhost" && !name.ends_with(".localhost");
    names.find(is_meant).expect("/etc/hosts gives this machine a name beside localhost")
}

/// Without it a customer's callback knocks at hosts of the operator's network, and nobody tells the customer why nothing came.
#[test]
fn a_callback_to_a_name_that_resolves_to_a_private_address_is_refused_and_its_customer_reads_why() {
    run(async {
        let name = private_name();
        // Links may be fetched from it, which says nothing of callbacks.
        let setup = Setup::sandbox_mode(&binary(env!("CARGO_BIN_EXE_gatehouse")));
        let gateway = Gateway::start(setup.with(&format!("[fetch]\nallow_private = [\"{name}\"]\n"))).await;
        let caller = gateway.open_account("acme", "1000").await;
        let body = json!({"model": "ctx-pro", "prompt": "a kite", "callback_url": format!("http://{name}/done?k=s3cret")});
        let answer = caller.post("/v1/images/generations", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let task = answer.task_id();
        let read = async |caller: &Caller| caller.get(&format!("/v1/tasks/{task}/callback")).await;
        caller.end_of(&task).await;
        let attempted = async || {
            let data = read(&caller).await.json()["data"].take();
            Some(data).filter(|data| data["delivery"]["attempts"] != json!([]) && !data["delivery"].is_null())
        };
        let outcome = until_some("it was attempted", attempted).await;
        let problem = outcome["delivery"]["attempts"][0]["problem"].as_str().expect("a reason").to_owned();
        assert!(problem.contains("is not a public address or does not exist"), "{outcome}");
        assert_eq!((&outcome["status"], &outcome["task"]), (&json!("pending"), &json!(task)), "{outcome}");
        assert!(!outcome.to_string().contains("s3cret"), "{outcome}");
        let rival = gateway.open_account("rival", "10").await;
        assert_eq!(read(&rival).await.status, 404);
        let plain = caller
            .post("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "a kite"}))
            .await
            .task_id();
        let none = caller.get(&format!("/v1/tasks/{plain}/callback")).await;
        assert_eq!(none.status, 404);
        assert!(none.message().contains("without a callback_url"), "{}", none.message());
    });
}

/// Without it a client of one shape would wait for a callback that never comes, or get two.
#[test]
fn every_shape_of_a_submission_is_called_back_once_and_a_repetition_not_again() {
    run(async {
        let (receiver, address) = Receiver::start(|_, _| Answer::Status(200)).await;
        let (gateway, caller) = start(address).await;
        let mut expected = BTreeMap::new();
        for (number, (path, format, body)) in [
            ("/v1/images/generations", "wrapped", json!({"model": "ctx-pro", "prompt": "a kite"})),
            ("/v1/images/generations", "bare", json!({"model": "ctx-pro", "prompt": "a kite"})),
            ("/v1/videos/generations", "wrapped", json!({"model": "motion-2.6", "prompt": "a kite"})),
            ("/v1/videos", "bare", json!({"model": "motion-2.6", "prompt": "a kite"})),
            ("/v1/journey/generations", "wrapped", json!({"prompt": "a kite"})),
        ]
        .into_iter()
        .enumerate()
        {
            let mut body = body;
            let key = format!("request-{number}");
            let headers = [("x-response-format", format), ("idempotency-key", &key), ("prefer", "wait=60")];
            body["callback_url"] = json!(format!("http://{address}/{number}"));
            let answer = caller.post_with(&headers, path, &body).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            // The client waited, so that the task has ended, and is in the answer or named by it.
            let json = answer.json();
            let is_pictures = format == "bare" && path.ends_with("generations");
            assert!(is_pictures || answer.header("preference-applied") == "wait=60", "{path}");
            let task = match json["data"]["id"].as_str() {
                Some(id) => id.to_owned(),
                None => answer.header("x-gateway-task-id").to_owned(),
            };
            assert_eq!(caller.task(&task).await["status"], "completed", "{path}: {json}");
            let again = caller.post_with(&headers, path, &body).await;
            assert_eq!((again.status, again.header("idempotency-replayed")), (200, "true"), "{path}");
            body["callback_url"] = json!(format!("http://{address}/elsewhere"));
            let other = caller.post_with(&headers, path, &body).await;
            assert_eq!(other.status, 422, "{path}: {}", other.text());
            expected.insert(format!("/{number}"), task);
        }
        until("each was told", async || told(&receiver).len() >= expected.len()).await;
        let found: BTreeMap<String, String> = receiver
            .all()
            .into_iter()
            .map(|arrival| {
                let event: Value = serde_json::from_slice(&arrival.body).expect("JSON");
                assert_eq!(event["type"], "task.completed");
                (arrival.path, event["data"]["id"].as_str().expect("an id").to_owned())
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(receiver.all().len(), expected.len());

        // Another key of the customer has another secret, and signs what it submits.
        let second = gateway.make_key("acme", &["--unlimited"]).await;
        assert_ne!(secret(&second).await, secret(&caller).await);
        let body = json!({"model": "ctx-pro", "prompt": "a kite", "callback_url": format!("http://{address}/second")});
        second.end_of(&second.post("/v1/images/generations", &body).await.task_id()).await;
        until("it was told", async || receiver.all().iter().any(|arrival| arrival.path == "/second")).await;
        let arrival = receiver.all().pop().expect("it came");
        let verify = async |caller: &Caller| {
            let verifier = standardwebhooks::Webhook::new(&secret(caller).await).expect("a secret");
            verifier.verify(&arrival.body, &arrival.headers).is_ok()
        };
        assert!(verify(&second).await && !verify(&caller).await);
    });
}
