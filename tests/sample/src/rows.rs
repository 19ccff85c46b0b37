//! Rows and parts of commands with made-up contents.

use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{
    BlobId, Body, Call, Charge, Claim, Credits, CustomerId, Digest, Event, FailureKind, Key, KeyDigest,
    KeyId, KeyPolicy, Payload, Phase, Price, QuotaPeriod, Reading, Replay, Reply, RequestId, Status, Tags,
    Target, Task, TaskFailure, TaskId, UnixMs, Usage, WebhookId,
};
use gatehouse_tasks::{
    Change, Command, Ending, JoinRequest, JudgedTask, Reconciliation, ResultRecord, SealedSecret,
    WebhookChange, WebhookEndpoint, WebhookPolicy,
};

/// When every sample begins: a little before midnight, so that days change.
pub const START: UnixMs = UnixMs(20_500 * 86_400_000 - 3_600_000);
/// Between two commands of a sequence.
pub const STEP: Duration = Duration::from_secs(600);

/// The customer of that number.
#[must_use]
pub fn customer_id(number: u8) -> CustomerId {
    CustomerId(format!("customer-{number}"))
}

/// The key of that number.
#[must_use]
pub fn key_id(number: u8) -> KeyId {
    KeyId(format!("key{number}"))
}

/// The task of that number, created that many thirds of a day after the start.
#[must_use]
pub fn task_id(number: u8) -> TaskId {
    let created = START.0 + u64::from(number) * 28_800_000;
    TaskId::from_bits((u128::from(created) << 80) | u128::from(number))
}

/// The request of that number.
#[must_use]
pub fn request_id(number: u8) -> RequestId {
    RequestId::from_bits((u128::from(START.0) << 80) | u128::from(number))
}

/// A key as it is made, of a customer.
#[must_use]
pub fn key(number: u8, customer: u8, quota: Option<i64>) -> Key {
    let name = format!("key number {number}");
    let policy = KeyPolicy { name, quota: quota.map(Credits), ..KeyPolicy::default() };
    Key::new(key_id(number), customer_id(customer), digest(number), START, policy)
}

/// A period of a quota: over an hour after [`START`], three hours after it, or at the next Monday in between.
#[must_use]
pub fn quota_period(number: u8) -> QuotaPeriod {
    let text = ["day", "day-02:00", "week+01:00"][usize::from(number % 3)];
    text.parse().expect("it is one")
}

/// What is kept of the secret of the key of that number.
#[must_use]
pub fn digest(number: u8) -> KeyDigest {
    KeyDigest(Digest::of(&[number]))
}

/// A task as it is accepted, for the key and customer of those numbers.
#[must_use]
pub fn task(number: u8, key: u8, customer: u8, price: i64, at: UnixMs) -> Task {
    Task {
        id: task_id(number),
        revision: 0,
        customer: customer_id(customer),
        key: key_id(key),
        family: "sample".into(),
        digest: Digest::of(b"build"),
        state_version: 1,
        state: vec![number],
        seed: 7,
        model: format!("model-{}", number % 2),
        surface: "images.generate".into(),
        status: Status::Submitted,
        progress: 0,
        created: at,
        deadline: at.plus(Duration::from_secs(1800)),
        finished: None,
        expected_ms: None,
        phase: Phase::Run(Event::Start(Bytes::new())),
        brief: Bytes::from(vec![b'b', number]),
        joined: vec![],
        assignment: None,
        blobs: vec![],
        charge: Charge::of(["image"], 1),
        at_most: Charge::default(),
        prices: vec![Price::each(Credits(price))],
        held: Credits(price),
        joined_held: Credits::ZERO,
        stop_asked: false,
        callback: None,
        tags: Tags::default(),
        sent_again: false,
        trace: None,
        cost: None,
        public: vec![],
        private: vec![],
        media: vec![],
        failure: None,
    }
}

/// A line of the audit record.
pub fn audit(text: impl Into<String>) -> Command {
    Command::Audit { task: None, text: text.into(), at: START }
}

/// What a request of the key of that number holds, and for how long at most.
#[must_use]
pub fn hold(id: RequestId, (key, model): (u8, &str), amount: i64, (at, span): (UnixMs, Duration)) -> Command {
    let (key, model, amount) = (key_id(key), model.to_owned(), Credits(amount));
    Command::Hold { id, key, model, amount, expires: at.plus(span), at }
}

/// What a request cost, by no tokens.
#[must_use]
pub fn settle(id: RequestId, amount: i64, at: UnixMs) -> Command {
    let (amount, memo, tokens) = (Credits(amount), String::new(), Usage::default());
    Command::Settle { id, amount, memo, tokens, tags: Tags::default(), at }
}

/// A webhook of a customer, which hears of every end of a task.
#[must_use]
pub fn webhook(number: u128, customer: u8) -> WebhookEndpoint {
    let policy = WebhookPolicy {
        url: "https://example.com/hook".to_owned(),
        events: Vec::new(),
        description: String::new(),
        enabled: true,
    };
    let secret = SealedSecret { created: START, sealed: vec![1] };
    WebhookEndpoint::new(WebhookId::from_bits(number), customer_id(customer), policy, secret, None)
}

/// A change of a webhook.
#[must_use]
pub fn webhook_change(change: WebhookChange, at: UnixMs) -> Command {
    Command::Webhook { change: Box::new(change), at }
}

/// Progress that changes status and progress only.
#[must_use]
pub fn change(status: Status, progress: u8) -> Change {
    Change {
        status,
        progress,
        phase: Phase::Run(Event::Timer),
        state: None,
        digest: None,
        assignment: None,
        blobs: None,
        view: None,
        deliver: false,
        stop_asked: false,
        sent_again: false,
        audit: None,
    }
}

/// The delivery of the oldest request that joined.
#[must_use]
pub fn delivery(status: Status, progress: u8) -> Change {
    Change { phase: Phase::Wait(START), deliver: true, ..change(status, progress) }
}

/// A call that may not be repeated.
#[must_use]
pub fn sent_call() -> Call {
    Call {
        provider: "sample".into(),
        method: "POST".into(),
        target: Target::Path("/jobs".into()),
        headers: vec![],
        body: Payload::None,
        timeout_ms: 1000,
        replay: Replay::Once,
        affinity: None,
        reading: Reading::Whole,
        credentials: true,
        shared: None,
    }
}

/// The ruling of that number: resend, fail, adopt.
#[must_use]
pub fn ruled(number: u8) -> Reconciliation {
    match number {
        0 => Reconciliation::Resend,
        1 => Reconciliation::Fail,
        _ => {
            let body = Body::Inline(Bytes::from_static(b"{}"));
            let reply = Reply { status: 200, headers: vec![], body, affinity: String::new() };
            Reconciliation::Adopt { reply, blobs: vec![BlobId::from_bits(number.into())] }
        }
    }
}

/// A result that names that number.
#[must_use]
pub fn result(number: u8) -> ResultRecord {
    ResultRecord {
        public: format!(r#"{{"images":[{number}]}}"#).into_bytes(),
        private: format!(r#"{{"number":{number}}}"#).into_bytes(),
        media: vec![],
    }
}

/// A good end at that cost.
#[must_use]
pub fn completed(cost: i64) -> Ending {
    Ending::Completed { result: result(0), claims: vec![], cost: Credits(cost) }
}

/// A bad end.
#[must_use]
pub fn failed() -> Ending {
    Ending::failed(TaskFailure { kind: FailureKind::Upstream, message: "it broke".into() })
}

/// The name of that number.
#[must_use]
pub fn name(number: u8) -> String {
    format!("asset://sample/{number}")
}

/// A claim of the name of that number, told apart by its record.
#[must_use]
pub fn claim(number: u8, record: u8) -> Claim {
    Claim { name: name(number), private: format!(r#"{{"record":{record}}}"#).into(), affinity: None }
}

/// A request that joins a task as it was submitted, through the key of that number; its brief is the present moment, so
/// that no two are equal.
#[must_use]
pub fn join_request(key: u8, price: i64, at: UnixMs) -> JoinRequest {
    JoinRequest {
        key: key_id(key),
        surface: "images.join".into(),
        judged: JudgedTask { revision: 0, undelivered: 0 },
        brief: Bytes::copy_from_slice(&at.0.to_be_bytes()),
        blobs: vec![BlobId::from_bits(at.0.into())],
        charge: Charge::of(["join"], 1),
        prices: vec![Price::each(Credits(price))],
        held: Credits(price),
        deadline: at.plus(Duration::from_secs(1800)),
    }
}
