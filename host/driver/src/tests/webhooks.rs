//! Webhooks end to end: a task ends, the receiver gets what other libraries verify, and what fails comes again under the
//! same id, also after a restart.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::{Config, SubmitError, WebhookAction, WebhookError, WebhookPatch, WebhookRequest, WebhookSecret};
use gatehouse_harness::{Provider, Received, TestClock, TestSeed, reply, until};
use gatehouse_model::{Clock as _, DeliveryId, Digest, Pepper, Task, UnixMs, WebhookId};
use gatehouse_sample::{
    START, at_once, beginning, completed, customer_id, key_id, request_id, task, task_id,
};
use gatehouse_store::{Access, AuditQuery};
use gatehouse_tasks::{
    Command, DeliveryState, MemoryLedgerStorage, WebhookChange, WebhookDelivery, WebhookEndpoint,
    WebhookPolicy,
};
use serde_json::{Value, json};

use crate::tests::support::Process;

const HOOK: WebhookId = WebhookId::from_bits(1);

struct Scene {
    data: tempfile::TempDir,
    clock: Arc<TestClock>,
    receiver: Provider,
    process: Process,
    secret: WebhookSecret,
}

impl Scene {
    /// A gateway with a webhook whose receiver answers so.
    async fn with(answer: impl Fn(&Received) -> gatehouse_harness::Reply + Send + Sync + 'static) -> Self {
        let receiver = Provider::start(answer).await;
        let (data, clock) = (tempfile::tempdir().expect("a folder"), TestClock::at(START.0));
        let process = start(&data, &receiver, &clock).await;
        let commands = beginning().into_iter().map(|one| one.command(&MemoryLedgerStorage::default(), START));
        process.execute(commands).await;
        let seed = TestSeed::counting_from(5);
        let secret = WebhookSecret::mint(&seed);
        let policy = WebhookPolicy {
            url: format!("{}/hook", receiver.url()),
            events: Vec::new(),
            description: String::new(),
            enabled: true,
        };
        let sealed = secret.seal(&Pepper::new([7; 32]), HOOK, START, &seed);
        let webhook = WebhookEndpoint::new(HOOK, customer_id(0), policy, sealed, None);
        let scene = Self { data, clock, receiver, process, secret };
        scene.change(WebhookChange::Add(Box::new(webhook))).await;
        scene
    }

    /// The same with a receiver that fails, until it is `healthy`.
    async fn failing() -> (Self, Arc<AtomicBool>) {
        let healthy = Arc::new(AtomicBool::new(false));
        let well = Arc::clone(&healthy);
        let answer = move |_: &Received| reply(if well.load(Ordering::SeqCst) { 200 } else { 500 }, &[], "");
        (Self::with(answer).await, healthy)
    }

    /// The next process, an hour later; the receiver is well.
    async fn restarted(self, healthy: &AtomicBool) -> Self {
        let Self { data, clock, receiver, process, secret } = self;
        process.driver.process.stop(Duration::ZERO, Duration::ZERO).await;
        process.store.close();
        drop(process);
        healthy.store(true, Ordering::SeqCst);
        clock.advance(Duration::from_secs(3_600));
        let process = start(&data, &receiver, &clock).await;
        Self { data, clock, receiver, process, secret }
    }

    async fn change(&self, change: WebhookChange) {
        self.process.execute([Command::Webhook { change: Box::new(change), at: self.clock.now() }]).await;
    }

    /// Ends a task of the webhook's customer.
    async fn end_task(&self, number: u8) {
        self.end(task(number, 0, 0, 2, START)).await;
    }

    async fn end(&self, task: Task) {
        let (id, at) = (task.id, self.clock.now());
        let submit = Command::Submit { task: Box::new(task), idempotency: None };
        let finish = Command::Finish { id, revision: 0, ending: completed(2), audit: None, at };
        self.process.execute([submit, finish]).await;
    }

    /// The only delivery, once so many attempts of it are on record.
    async fn attempted(&self, times: usize) -> WebhookDelivery {
        let store = &self.process.store;
        let query = gatehouse_store::DeliveryQuery { webhook: HOOK, pending: false };
        let read = async || store.list_deliveries(query, None, 2).await.expect("readable").rows;
        until("it was attempted", async || {
            let page = read().await;
            page.len() == 1 && page[0].attempts.len() >= times
        })
        .await;
        read().await.remove(0)
    }

    fn webhook(&self) -> WebhookEndpoint {
        at_once(self.process.store.webhook(HOOK)).expect("readable").expect("it stands")
    }

    /// What arrived, verified by the foreign library under that secret.
    fn verified(&self, secret: &str) -> Vec<(String, Value)> {
        let verifier = standardwebhooks::Webhook::new(secret).expect("a secret");
        // The clock of the test is not the machine's, so the moment is not judged, only signed.
        let verify = |seen: &Received| {
            let header = |name| seen.header(name).expect("a header").to_owned();
            let (id, moment) = (header("webhook-id"), header("webhook-timestamp"));
            let expected = verifier.sign(&id, moment.parse().expect("seconds"), &seen.body).expect("signed");
            assert!(header("webhook-signature").split(' ').any(|found| found == expected), "{id}");
            (id, serde_json::from_slice(&seen.body).expect("JSON"))
        };
        self.receiver.received().iter().map(verify).collect()
    }
}

async fn start(data: &tempfile::TempDir, receiver: &Provider, clock: &Arc<TestClock>) -> Process {
    let config = Config { webhooks_over_http: true, ..Config::default() };
    Process::start_allowing(data.path(), &receiver.address.to_string(), config, clock.clone()).await
}

#[tokio::test]
async fn the_receiver_gets_what_other_libraries_verify() {
    let scene = Scene::with(|_| reply(204, &[], "")).await;
    scene.end_task(1).await;
    let delivery = scene.attempted(1).await;
    assert_eq!(delivery.state, DeliveryState::Delivered { at: START });
    let seen = scene.verified(&scene.secret.reveal());
    assert_eq!(seen.len(), 1);
    let (id, event) = &seen[0];
    assert_eq!(*id, delivery.id.to_string());
    assert!(id.starts_with("msg_") && !id.contains('.'), "{id}");
    let data = json!({"id": task_id(1), "status": "completed", "model": task(1, 0, 0, 2, START).model, "charged": 0.000_002});
    assert_eq!(*event, json!({"type": "task.completed", "timestamp": START.to_string(), "data": data}));
    let received = scene.receiver.only();
    assert_eq!((&received.body[..], received.path()), (&delivery.body[..], "/hook"));
    assert_eq!(received.header("webhook-timestamp"), Some(START.seconds().to_string().as_str()));
    let webhook = scene.webhook();
    assert_eq!((webhook.pending, webhook.last_success, webhook.failing_since), (0, Some(START), None));
}

#[tokio::test]
async fn what_fails_comes_again_with_the_same_id_and_bytes_and_a_new_moment() {
    let count = AtomicUsize::new(0);
    let scene = Scene::with(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => reply(500, &[], "no\u{fffd}".repeat(900)),
        1 => reply(302, &[("location", "/elsewhere")], ""),
        2 => reply(503, &[("retry-after", "4000")], ""),
        _ => reply(200, &[], "thanks"),
    })
    .await;
    scene.end_task(1).await;
    for attempt in 1..4 {
        let delivery = scene.attempted(attempt).await;
        let due = delivery.due().expect("it comes again");
        let pause = due.since(scene.clock.now());
        scene.clock.armed(pause.min(Duration::from_secs(60))).await;
        scene.clock.advance(pause);
    }
    let delivery = scene.attempted(4).await;
    assert!(matches!(delivery.state, DeliveryState::Delivered { .. }), "{delivery:?}");
    // Cut at 1 KiB, and not within a letter.
    let told: Vec<_> =
        delivery.attempts.iter().map(|attempt| (attempt.status, attempt.answer.len())).collect();
    assert_eq!(told, [(Some(500), 1_022), (Some(302), 0), (Some(503), 0), (Some(200), 6)]);
    let waits: Vec<u64> =
        delivery.attempts.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_secs()).collect();
    assert!((4..=6).contains(&waits[0]) && (240..=360).contains(&waits[1]), "{waits:?}");
    assert!((4_000..=4_001).contains(&waits[2]), "asked for: {waits:?}");
    let seen = scene.verified(&scene.secret.reveal());
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]) && seen.len() == 4, "{seen:?}");
    let moments: Vec<_> = scene
        .receiver
        .received()
        .iter()
        .map(|seen| seen.header("webhook-timestamp").map(str::to_owned))
        .collect();
    assert!(moments.windows(2).all(|pair| pair[0] < pair[1]), "{moments:?}");
    assert!(scene.receiver.received().iter().all(|seen| seen.path() == "/hook"), "no redirect is followed");
}

/// Without it a webhook that was moved to a server that works would send nothing there for an hour.
#[tokio::test]
async fn the_pause_of_an_address_does_not_hold_up_the_next_one() {
    let scene = Scene::with(|seen| match seen.path() {
        "/hook" => reply(503, &[("retry-after", "3600")], ""),
        _ => reply(204, &[], ""),
    })
    .await;
    scene.end_task(1).await;
    scene.attempted(1).await;
    let (row, url) = (scene.webhook(), format!("{}/moved", scene.receiver.url()));
    let (id, revision, policy) = (HOOK, row.revision, WebhookPolicy { url, ..row.policy() });
    let (by_customer, by_word) = (false, false);
    scene.change(WebhookChange::Edit { id, revision, policy, by_customer, by_word }).await;
    scene.change(WebhookChange::Test { id, delivery: DeliveryId::from_bits(7) }).await;
    let came = async || scene.receiver.received().iter().any(|seen| seen.path() == "/moved");
    until("the new address heard of it", came).await;
}

#[tokio::test]
async fn the_next_process_goes_on_with_what_waits() {
    let (scene, healthy) = Scene::failing().await;
    scene.end_task(1).await;
    let before = scene.attempted(1).await;
    let scene = scene.restarted(&healthy).await;
    let after = scene.attempted(2).await;
    assert_eq!((after.id, &after.body), (before.id, &before.body));
    assert!(matches!(after.state, DeliveryState::Delivered { .. }));
    let seen = scene.verified(&scene.secret.reveal());
    assert_eq!(seen[0], seen[1]);
}

/// Without it a callback that failed, or that the process was stopped before, would never come; and its receiver could not
/// tell it from anyone's.
#[tokio::test]
async fn a_callback_is_signed_by_its_keys_secret_and_goes_on_in_the_next_process() {
    let (scene, healthy) = Scene::failing().await;
    scene.change(WebhookChange::Remove { id: HOOK }).await;
    let mut asked = task(1, 0, 0, 2, START);
    asked.callback = Some(format!("{}/done?token=1", scene.receiver.url()));
    let key = asked.key.clone();
    scene.end(asked).await;
    let ended = scene.process.store.task(task_id(1)).await.expect("readable").expect("it is there");
    let id = gatehouse_tasks::callback_of(&ended).expect("it has one");
    let attempts = async |process: &Process| {
        let delivery = process.store.delivery(id).await.expect("readable").expect("it is there");
        (delivery.attempts.len(), delivery)
    };
    until("it was attempted", async || attempts(&scene.process).await.0 == 1).await;
    let scene = scene.restarted(&healthy).await;
    until("it was attempted again", async || attempts(&scene.process).await.0 == 2).await;
    assert!(matches!(attempts(&scene.process).await.1.state, DeliveryState::Delivered { .. }));
    let seen = scene.verified(&WebhookSecret::of_key(&Pepper::new([7; 32]), &key).reveal());
    assert_eq!((seen.len(), &seen[0]), (2, &seen[1]));
    assert_eq!(seen[0].1["type"], "task.completed");
    assert!(scene.receiver.received().iter().all(|seen| seen.path() == "/done"));
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_disabled_with_a_line_in_the_audit_record() {
    let scene = Scene::with(|_| reply(410, &[], "gone")).await;
    scene.end_task(1).await;
    let delivery = scene.attempted(1).await;
    assert!(matches!(&delivery.state, DeliveryState::Failed { reason, .. } if reason.contains("410")));
    assert!(scene.webhook().disabled.is_some());
    let read = scene.process.store.list_audit(AuditQuery::default(), None, 10).await;
    let lines = read.expect("readable").rows;
    assert!(lines[0].1.text.contains("was disabled"), "{lines:?}");
    assert!(!format!("{lines:?} {:?}", scene.webhook()).contains(&scene.secret.reveal()[6..]));
    // What ends now is told to nobody.
    scene.end_task(2).await;
    assert_eq!(scene.attempted(1).await.id, delivery.id);
    assert_eq!(scene.receiver.received().len(), 1);
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_until_the_old_one_is_retired() {
    let scene = Scene::with(|_| reply(200, &[], "")).await;
    let seed = TestSeed::counting_from(99);
    let new = WebhookSecret::mint(&seed);
    let secret = new.seal(&Pepper::new([7; 32]), HOOK, START, &seed);
    scene.change(WebhookChange::Rotate { id: HOOK, secret }).await;
    scene.end_task(1).await;
    scene.attempted(1).await;
    assert_eq!(scene.verified(&scene.secret.reveal()), scene.verified(&new.reveal()));
    let signatures = scene.receiver.only().header("webhook-signature").expect("signed").to_owned();
    let id = scene.attempted(1).await.id;
    let expected = new.sign(id, START, &scene.receiver.only().body);
    assert!(signatures.starts_with(&format!("{expected} v1,")), "the new one first: {signatures}");

    scene.change(WebhookChange::Retire { id: HOOK }).await;
    scene.change(WebhookChange::Resend { delivery: id }).await;
    scene.attempted(2).await;
    let last = scene.receiver.received().pop().expect("it came again");
    assert_eq!(last.header("webhook-signature"), Some(new.sign(id, START, &last.body).as_str()));
    assert_eq!(last.header("webhook-id"), Some(id.to_string().as_str()));
}

#[tokio::test]
async fn many_events_go_one_at_a_time_and_each_once() {
    let scene = Scene::with(|_| reply(200, &[], "")).await;
    for number in 1..=20 {
        scene.end_task(number).await;
    }
    let query = gatehouse_store::DeliveryQuery { webhook: HOOK, pending: true };
    let store = &scene.process.store;
    until("all are sent", async || {
        store.list_deliveries(query, None, 1).await.expect("readable").rows.is_empty()
    })
    .await;
    let mut times: HashMap<String, usize> = HashMap::new();
    for (id, _) in scene.verified(&scene.secret.reveal()) {
        *times.entry(id).or_default() += 1;
    }
    assert_eq!((times.len(), times.values().max()), (20, Some(&1)));
    assert_eq!(scene.webhook().pending, 0);
}

/// Without it a client that repeats what it did not hear the answer to would be told that its webhook is unknown or stopped,
/// and could make one anew that an operator has stopped.
#[tokio::test]
async fn a_repeated_change_is_a_repetition_whatever_has_become_of_the_webhook() {
    let scene = Scene::with(|_| reply(200, &[], "")).await;
    let key = Arc::new(scene.process.store.key(&key_id(0)).await.expect("readable").expect("a key"));
    let ask = async |token: &str, action: WebhookAction| {
        let about = Digest::of(format!("{action:?}").as_bytes());
        let request = WebhookRequest {
            key: Arc::clone(&key),
            id: request_id(1),
            client: "192.0.2.1".to_owned(),
            idempotency: Some((token.to_owned(), about)),
            action,
        };
        scene.process.driver.webhooks.change_own_webhook(request).await
    };
    let policy =
        WebhookPolicy { url: format!("{}/own?token=1", scene.receiver.url()), ..scene.webhook().policy() };
    let id = ask("c", WebhookAction::Create(policy.clone())).await.expect("made").id;
    let enable = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
    let edit = WebhookAction::Edit(id, enable);
    let sent = ask("t", WebhookAction::Test(id)).await.expect("sent").delivery.expect("a delivery").id;
    let rotated = ask("r", WebhookAction::Rotate(id)).await.expect("rotated");
    assert!(rotated.secret.is_some() && !ask("e", edit.clone()).await.expect("edited").repeated);

    let operators = async |enabled: bool| {
        let row = scene.process.store.webhook(id).await.expect("readable").expect("it stands");
        let policy = WebhookPolicy { enabled, ..row.policy() };
        let (revision, by_customer, by_word) = (row.revision, false, !enabled);
        scene.change(WebhookChange::Edit { id, revision, policy, by_customer, by_word }).await;
    };
    operators(false).await;
    for action in [edit.clone(), WebhookAction::Remove(id)] {
        let refused = ask("new", action).await;
        assert!(matches!(refused, Err(WebhookError::DisabledByOperator(_))), "{refused:?}");
    }
    let repeated = async |token: &str, action: &WebhookAction| {
        let again = ask(token, action.clone()).await.unwrap_or_else(|error| panic!("{action:?}: {error}"));
        assert!(again.repeated && again.id == id && again.secret.is_none(), "{again:?}");
        again
    };
    for (token, action) in [("e", edit.clone()), ("r", WebhookAction::Rotate(id))] {
        assert!(
            repeated(token, &action).await.webhook.is_some_and(|webhook| webhook.is_disabled_by_operator())
        );
    }
    assert_eq!(repeated("t", &WebhookAction::Test(id)).await.delivery.map(|row| row.id), Some(sent));

    operators(true).await;
    let remove = WebhookAction::Remove(id);
    assert!(!ask("x", remove.clone()).await.expect("removed").repeated);
    let lines = scene.process.store.list_audit(AuditQuery::default(), None, 1).await.expect("readable").rows;
    let changes = &lines[0].1.request.as_ref().expect("a request").changes;
    assert_eq!((changes.len(), changes[0].after.as_deref()), (4, None), "{changes:?}");
    assert!(repeated("x", &remove).await.webhook.is_none());
    let other = ask("x", WebhookAction::Test(id)).await;
    let is_conflict = matches!(other, Err(WebhookError::Request(SubmitError::IdempotencyConflict)));
    assert!(is_conflict, "{other:?}");
    let unknown = ask("y", remove).await;
    assert!(matches!(unknown, Err(WebhookError::Unknown(found)) if found == id), "{unknown:?}");
}

/// Without it a client is told to try again what was done: it makes a second webhook, or has lost the only copy of a secret.
#[tokio::test]
async fn a_change_that_stands_is_answered_while_the_store_cannot_be_read() {
    let scene = Scene::with(|_| reply(200, &[], "")).await;
    let store = &scene.process.store;
    let key = Arc::new(store.key(&key_id(0)).await.expect("readable").expect("a key"));
    // Commits until reads are refused.
    let commits = Arc::new(AtomicUsize::new(usize::MAX));
    let left = Arc::clone(&commits);
    store.ask_engine(move |access| {
        if access == Access::Commit && left.load(Ordering::SeqCst) > 0 {
            left.fetch_sub(1, Ordering::SeqCst);
        }
        access != Access::Read || left.load(Ordering::SeqCst) > 0
    });
    let ask = async |action: WebhookAction| {
        // A read that was refused has the writer look for the engine, in a commit of its own.
        store.flush().await.expect("it can be reached");
        commits.store(1, Ordering::SeqCst);
        let request = WebhookRequest {
            key: Arc::clone(&key),
            id: request_id(1),
            client: "192.0.2.1".to_owned(),
            idempotency: None,
            action,
        };
        let changed = scene.process.driver.webhooks.change_own_webhook(request).await;
        assert_eq!(commits.swap(usize::MAX, Ordering::SeqCst), 0, "it was committed");
        changed.expect("what was done")
    };
    let policy = WebhookPolicy { url: format!("{}/own", scene.receiver.url()), ..scene.webhook().policy() };
    let made = ask(WebhookAction::Create(policy)).await;
    let id = made.id;
    assert!(made.secret.is_some() && made.webhook.is_some_and(|webhook| webhook.id == id));
    let words = WebhookPatch { description: Some("night".to_owned()), ..WebhookPatch::default() };
    let edited = ask(WebhookAction::Edit(id, words)).await.webhook.expect("the webhook");
    assert_eq!((edited.description.as_str(), edited.revision), ("night", 1));
    let rotated = ask(WebhookAction::Rotate(id)).await;
    assert!(rotated.secret.is_some() && rotated.webhook.is_some_and(|webhook| webhook.old_secret.is_some()));
    assert!(ask(WebhookAction::Test(id)).await.delivery.is_some_and(|delivery| delivery.webhook == id));
}

#[test]
fn no_moment_is_lost_between_milliseconds_and_seconds() {
    let secret = WebhookSecret::mint(&TestSeed::counting_from(1));
    let id = DeliveryId::from_bits(3);
    assert_eq!(secret.sign(id, UnixMs(5_000), b"x"), secret.sign(id, UnixMs(5_999), b"x"));
    assert_ne!(secret.sign(id, UnixMs(5_000), b"x"), secret.sign(id, UnixMs(6_000), b"x"));
}
