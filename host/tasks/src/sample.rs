//! Made-up rows and command sequences, for tests only.
//!
//! A [`CommandTemplate`] is a command that is not yet bound to a storage: it becomes a [`Command`] against the
//! present storage, so that random sequences often hit the right revision and sometimes a stale one. Ids come from
//! small pools, so that commands meet each other.

use std::time::Duration;

use gatehouse_model::{
    Charge, Credits, CustomerId, Digest, Event, FailureKind, Key, KeyDigest, KeyId, Phase, RequestId, Status,
    Task, TaskFailure, TaskId, UnixMs,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

use crate::commands::command::{Change, Command, Ending, Idempotency};
use crate::storage::memory::MemoryLedgerStorage;

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
    Key {
        id: key_id(number),
        customer: customer_id(customer),
        name: format!("key number {number}"),
        digest: KeyDigest(Digest::of(&[number])),
        created: START,
        quota: quota.map(Credits),
        used: Credits::ZERO,
        models: vec![],
        networks: vec![],
        expires: None,
        revoked: None,
        chat_format: gatehouse_model::ChatFormat::Wrapped,
    }
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
        phase: Phase::Run(Event::Start),
        assignment: None,
        blobs: vec![],
        charge: Charge { keys: vec!["image".into()], quantity: 1 },
        unit_price: Credits(price),
        held: Credits(price),
        cost: None,
        public: vec![],
        private: vec![],
        media: vec![],
        failure: None,
    }
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
        audit: None,
    }
}

/// A good end at that cost.
#[must_use]
pub fn completed(cost: i64) -> Ending {
    Ending::Completed {
        public: br#"{"images":[]}"#.to_vec(),
        private: b"{}".to_vec(),
        media: vec![],
        cost: Credits(cost),
    }
}

/// A bad end.
#[must_use]
pub fn failed() -> Ending {
    Ending::Failed(TaskFailure { kind: FailureKind::Upstream, message: "it broke".into() })
}

/// A command before it is bound to a storage. Numbers name rows of the pools; `late` makes a revision stale.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of the commands they become")]
pub enum CommandTemplate {
    AddKey { key: u8, customer: u8, quota: Option<i64>, hours: Option<u8> },
    Advance { task: u8, late: u64, status: Status, progress: u8 },
    Audit { task: Option<u8> },
    Deposit { customer: u8, amount: i64 },
    DropHistory { days: u32 },
    Finish { task: u8, late: u64, cost: Option<i64> },
    Hold { request: u8, key: u8, amount: i64, steps: u32 },
    AddCustomer { customer: u8 },
    Release { request: u8 },
    RevokeKey { key: u8 },
    Settle { request: u8, amount: i64 },
    Submit { task: u8, key: u8, customer: u8, price: i64, token: Option<(u8, u8)> },
    Sweep { limit: usize },
    SweepHolds { limit: usize },
}

impl CommandTemplate {
    /// The command it becomes, at that moment and in view of those storage.
    #[must_use]
    pub fn command(&self, storage: &MemoryLedgerStorage, at: UnixMs) -> Command {
        match self.clone() {
            Self::AddKey { key: number, customer, quota, hours } => {
                let expires = hours.map(|hours| at.plus(Duration::from_secs(u64::from(hours) * 3600)));
                Command::AddKey { key: Box::new(Key { expires, ..key(number, customer, quota) }) }
            }
            Self::Advance { task, late, status, progress } => Command::Advance {
                id: task_id(task),
                revision: revision(storage, task).saturating_sub(late),
                change: Box::new(change(status, progress)),
                at,
            },
            Self::Audit { task } => {
                Command::Audit { task: task.map(task_id), text: "it was noticed".into(), at }
            }
            Self::Deposit { customer, amount } => Command::Deposit {
                customer: customer_id(customer),
                amount: Credits(amount),
                memo: "by hand".into(),
                at,
            },
            Self::DropHistory { days } => Command::DropHistory { before_day: START.day() + days },
            Self::Finish { task, late, cost } => Command::Finish {
                id: task_id(task),
                revision: revision(storage, task).saturating_sub(late),
                ending: cost.map_or_else(failed, completed),
                audit: (late == 0).then(|| "it ended".into()),
                at,
            },
            Self::Hold { request, key, amount, steps } => Command::Hold {
                id: request_id(request),
                key: key_id(key),
                amount: Credits(amount),
                unit_price: Credits(1),
                expires: at.plus(STEP * steps),
                at,
            },
            Self::AddCustomer { customer } => Command::AddCustomer { id: customer_id(customer), at },
            Self::Release { request } => Command::Release { id: request_id(request), at },
            Self::RevokeKey { key } => Command::RevokeKey { id: key_id(key), at },
            Self::Settle { request, amount } => {
                Command::Settle { id: request_id(request), amount: Credits(amount), memo: String::new(), at }
            }
            Self::Submit { task: number, key, customer, price, token } => Command::Submit {
                task: Box::new(task(number, key, customer, price, at)),
                idempotency: token.map(|(token, fingerprint)| Idempotency {
                    key: key_id(key),
                    token: Digest::of(&[token]),
                    fingerprint: Digest::of(&[fingerprint]),
                    expires: at.plus(STEP * 6),
                }),
            },
            Self::Sweep { limit } => Command::Sweep { now: at, limit },
            Self::SweepHolds { limit } => Command::SweepHolds { now: at, limit },
        }
    }
}

fn revision(storage: &MemoryLedgerStorage, task: u8) -> u64 {
    storage.live_tasks().find(|live| live.id == task_id(task)).map_or(0, |live| live.revision)
}

/// Sequences of at most `length` templates, after a beginning that opens two customers with money and three keys.
pub fn command_sequences(length: usize) -> impl Strategy<Value = Vec<CommandTemplate>> {
    vec(any_template(), 1..length).prop_map(|more| beginning().into_iter().chain(more).collect())
}

/// What every sequence begins with.
#[must_use]
pub fn beginning() -> Vec<CommandTemplate> {
    let key = |key, customer, quota| CommandTemplate::AddKey { key, customer, quota, hours: None };
    vec![
        CommandTemplate::AddCustomer { customer: 0 },
        CommandTemplate::AddCustomer { customer: 1 },
        CommandTemplate::Deposit { customer: 0, amount: 300 },
        CommandTemplate::Deposit { customer: 1, amount: 60 },
        key(0, 0, None),
        key(1, 0, Some(100)),
        key(2, 1, Some(1000)),
    ]
}

/// Any template; tasks and their ends more often than the rest.
fn any_template() -> BoxedStrategy<CommandTemplate> {
    let status = prop_oneof![
        Just(Status::Submitted),
        Just(Status::Pending),
        Just(Status::Processing),
        Just(Status::Processing),
        Just(Status::Completed),
    ];
    let late = || prop_oneof![4 => Just(0_u64), 1 => 1_u64..3];
    prop_oneof![
        1 => (0..4_u8, 0..3_u8, option::of(-5..200_i64), option::of(0..4_u8))
            .prop_map(|(key, customer, quota, hours)| CommandTemplate::AddKey { key, customer, quota, hours }),
        6 => (0..6_u8, late(), status, any::<u8>())
            .prop_map(|(task, late, status, progress)| CommandTemplate::Advance { task, late, status, progress }),
        1 => option::of(0..6_u8).prop_map(|task| CommandTemplate::Audit { task }),
        2 => (0..3_u8, prop_oneof![-400..400_i64, Just(i64::MAX), Just(i64::MIN)])
            .prop_map(|(customer, amount)| CommandTemplate::Deposit { customer, amount }),
        1 => (0..4_u32).prop_map(|days| CommandTemplate::DropHistory { days }),
        6 => (0..6_u8, late(), option::of(-1..70_i64))
            .prop_map(|(task, late, cost)| CommandTemplate::Finish { task, late, cost }),
        3 => (0..4_u8, 0..4_u8, -2..80_i64, 0..6_u32)
            .prop_map(|(request, key, amount, steps)| CommandTemplate::Hold { request, key, amount, steps }),
        1 => (0..3_u8).prop_map(|customer| CommandTemplate::AddCustomer { customer }),
        2 => (0..4_u8).prop_map(|request| CommandTemplate::Release { request }),
        1 => (0..4_u8).prop_map(|key| CommandTemplate::RevokeKey { key }),
        2 => (0..4_u8, -1..60_i64).prop_map(|(request, amount)| CommandTemplate::Settle { request, amount }),
        8 => (0..6_u8, 0..4_u8, 0..8_u8, -1..60_i64, option::of((0..3_u8, 0..2_u8))).prop_map(
            |(task, key, customer, price, token)| {
                // Mostly the key's own customer, now and then another one.
                let customer = if customer > 1 { key / 2 } else { customer };
                CommandTemplate::Submit { task, key, customer, price, token }
            }
        ),
        1 => (0..3_usize).prop_map(|limit| CommandTemplate::Sweep { limit }),
        1 => (0..3_usize).prop_map(|limit| CommandTemplate::SweepHolds { limit }),
    ]
    .boxed()
}
