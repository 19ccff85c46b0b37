//! Command sequences for property tests.
//!
//! A [`CommandTemplate`] is a command that is not yet bound to a storage: it becomes a [`Command`] against the
//! present storage, so that random sequences often hit the right revision and sometimes a stale one. Ids come from
//! small pools, so that commands meet each other.

use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_model::{
    Claim, Credits, Customer, CustomerId, CustomerPolicy, Digest, Key, KeyPolicy, Limits, Phase, Status,
    Tags, Task, TaskId, UnixMs, Usage,
};
use gatehouse_tasks::{Change, Command, Ending, Idempotency, JudgedTask, MemoryLedgerStorage};
use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

use crate::expired::expired;
use crate::rows::{
    START, STEP, change, claim, completed, customer_id, delivery, digest, failed, join_request, key, key_id,
    quota_period, request_id, result, ruled, sent_call, task, task_id,
};

/// Numbers below it name any living task.
pub const ANY_LIVE: u8 = 4;

/// A command before it is bound to a storage. Numbers name rows of the pools; `late` makes a revision stale.
/// Changes, ends and joins of a number below [`ANY_LIVE`] look for a living task, or few of them would meet one.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of the commands they become")]
pub enum CommandTemplate {
    AddKey {
        key: u8,
        customer: u8,
        quota: Option<i64>,
        period: Option<u8>,
        hours: Option<u8>,
    },
    Advance {
        task: u8,
        late: u64,
        status: Status,
        progress: u8,
        deliver: bool,
        view: Option<u8>,
    },
    /// A call is about to leave.
    Send {
        task: u8,
        late: u64,
    },
    /// Its reply does not come, and an operator is asked.
    Lose {
        task: u8,
        late: u64,
    },
    /// The operator says what becomes of it: resend, fail, adopt.
    Reconcile {
        task: u8,
        late: Option<u64>,
        ruling: u8,
    },
    Audit {
        task: Option<u8>,
    },
    Deposit {
        customer: u8,
        amount: i64,
    },
    EditCustomer {
        customer: u8,
        late: u64,
        quota: Option<i64>,
        period: Option<u8>,
    },
    EditKey {
        key: u8,
        late: u64,
        quota: Option<i64>,
        period: Option<u8>,
        concurrency: Option<u8>,
        of_model: Option<u8>,
    },
    Finish {
        task: u8,
        late: u64,
        cost: Option<i64>,
        view: Option<u8>,
        names: Vec<u8>,
    },
    Hold {
        request: u8,
        key: u8,
        amount: i64,
        steps: u32,
    },
    Join {
        task: u8,
        late: u64,
        key: u8,
        price: i64,
        token: Option<(u8, u8)>,
    },
    AddCustomer {
        customer: u8,
    },
    Release {
        request: u8,
    },
    RevokeKey {
        key: u8,
    },
    RotateKey {
        key: u8,
        new: u8,
        steps: u32,
    },
    Settle {
        request: u8,
        amount: i64,
    },
    Submit {
        task: u8,
        key: u8,
        customer: u8,
        price: i64,
        token: Option<(u8, u8)>,
    },
    /// Early: what has not expired, and what is another's, is named too.
    Forget {
        customer: u8,
        limit: usize,
        early: bool,
    },
}

impl CommandTemplate {
    /// The command it becomes, at that moment and in view of those storage.
    #[must_use]
    pub fn command(&self, storage: &MemoryLedgerStorage, at: UnixMs) -> Command {
        match self.clone() {
            Self::AddKey { key: number, customer, quota, period, hours } => {
                let expires = hours.map(|hours| at.plus(Duration::from_secs(u64::from(hours) * 3600)));
                let quota_period = period.map(quota_period);
                Command::AddKey {
                    key: Box::new(Key { expires, quota_period, ..key(number, customer, quota) }),
                }
            }
            Self::Advance { task, late, status, progress, deliver, view } => {
                let id = chosen(storage, task, |live| !deliver || !live.joined.is_empty());
                let change = if deliver { delivery(status, progress) } else { change(status, progress) };
                Command::Advance {
                    id,
                    revision: revision(storage, id).saturating_sub(late),
                    change: Box::new(Change { view: view.map(result), ..change }),
                    at,
                }
            }
            Self::Send { task, late } => {
                let id = chosen(storage, task, |live| matches!(live.phase, Phase::Run(_)));
                let phase = Phase::Sent { call: sent_call(), at };
                moved(storage, (id, late), phase, at)
            }
            Self::Lose { task, late } => {
                let id = chosen(storage, task, |live| matches!(live.phase, Phase::Sent { .. }));
                let phase = Phase::Ambiguous { call: sent_call(), at, outage: None };
                moved(storage, (id, late), phase, at)
            }
            Self::Reconcile { task, late, ruling } => {
                let id = chosen(storage, task, |live| live.phase.ambiguous_call().is_some());
                let revision = late.map(|late| revision(storage, id).saturating_sub(late));
                let (ruling, reason) = (ruled(ruling), "it was seen".into());
                Command::Reconcile { id, revision, ruling, reason, deadline: START, at }
            }
            Self::Audit { task } => {
                Command::Audit { task: task.map(task_id), text: "it was noticed".into(), at }
            }
            Self::Deposit { customer, amount } => Command::Deposit {
                customer: customer_id(customer),
                amount: Credits(amount),
                memo: "by hand".into(),
                at,
            },
            Self::EditCustomer { customer, late, quota, period } => {
                let row = storage.customers().find(|row| row.id == customer_id(customer));
                let revision = row.map_or(0, |row: &Customer| row.revision).saturating_sub(late);
                let policy = CustomerPolicy {
                    quota: quota.map(Credits),
                    quota_period: period.map(quota_period),
                    // Of both kinds, so that what is told is compared too.
                    low_balance: quota.map(|quota| Credits(quota / 2)),
                    quota_alert: period.map(|number| number % 100 + 1),
                    price_variant: None,
                };
                Command::EditCustomer { id: customer_id(customer), revision, policy, at }
            }
            Self::EditKey { key, late, quota, period, concurrency, of_model } => {
                let row = storage.keys().find(|row| row.id == key_id(key));
                let revision = row.map_or(0, |row| row.revision).saturating_sub(late);
                let limits = |concurrency: Option<u8>| Limits {
                    concurrency: concurrency.and_then(|most| NonZeroU32::new(most.into())),
                    ..Limits::default()
                };
                let policy = KeyPolicy {
                    quota: quota.map(Credits),
                    quota_period: period.map(quota_period),
                    quota_alert: period.map(|number| number % 100 + 1),
                    limits: limits(concurrency),
                    model_limits: [("model-0".to_owned(), limits(of_model))].into(),
                    ..row.map(Key::policy).unwrap_or_default()
                };
                Command::EditKey { id: key_id(key), revision, policy: Box::new(policy), at }
            }
            Self::Finish { task, late, cost, view, names } => {
                let id = chosen(storage, task, |_| true);
                Command::Finish {
                    id,
                    revision: revision(storage, id).saturating_sub(late),
                    ending: ending(live(storage, id), cost, view, &names),
                    audit: (late == 0).then(|| "it ended".into()),
                    at,
                }
            }
            Self::Hold { request, key, amount, steps } => Command::Hold {
                id: request_id(request),
                key: key_id(key),
                model: format!("model-{}", request % 2),
                amount: Credits(amount),
                expires: at.plus(STEP * steps),
                at,
            },
            Self::Join { task, late, key, price, token } => {
                let parent = chosen(storage, task, |_| true);
                let judged = live(storage, parent).map(JudgedTask::of);
                let mut request = join_request(key, price, at);
                if let Some(JudgedTask { revision, undelivered }) = judged {
                    // One of the two is behind.
                    let (steps, joins) = if late % 2 == 0 { (late / 2, 0) } else { (0, 1) };
                    request.judged = JudgedTask {
                        revision: revision.saturating_sub(steps),
                        undelivered: undelivered.saturating_sub(joins),
                    };
                }
                Command::Join {
                    parent,
                    request: Box::new(request),
                    idempotency: token.map(|token| idempotency(key, token, at)),
                    at,
                }
            }
            Self::AddCustomer { customer } => {
                Command::AddCustomer { id: customer_id(customer), policy: CustomerPolicy::default(), at }
            }
            Self::Release { request } => Command::Release { id: request_id(request), at },
            Self::RevokeKey { key } => Command::RevokeKey { id: key_id(key), at },
            Self::RotateKey { key, new, steps } => Command::RotateKey {
                id: key_id(key),
                new: key_id(new),
                digest: digest(new),
                until: at.plus(STEP * steps),
                at,
            },
            Self::Settle { request, amount } => Command::Settle {
                id: request_id(request),
                amount: Credits(amount),
                memo: String::new(),
                tokens: Usage { input: u64::from(request), output: 1, ..Usage::default() },
                tags: tags_of(request),
                at,
            },
            Self::Submit { task: number, key, customer, price, token } => Command::Submit {
                task: Box::new(Task {
                    customer: customer_of(storage, key, customer),
                    deadline: at.plus(STEP * 36),
                    ..task(number, key, customer, price, at)
                }),
                idempotency: token.map(|token| idempotency(key, token, at)),
            },
            Self::Forget { customer, limit, early } => {
                let customer = customer_id(customer);
                let rows = expired(storage, if early { UnixMs(u64::MAX) } else { at }).into_iter();
                let rows = rows.filter(|(owner, _)| early || owner.as_ref() == Some(&customer));
                let rows = rows.map(|(_, row)| row).take(limit).collect();
                Command::Forget { customer: Some(customer), rows, at }
            }
        }
    }
}

/// A task's next phase, and nothing else.
fn moved(storage: &MemoryLedgerStorage, (id, late): (TaskId, u64), phase: Phase, at: UnixMs) -> Command {
    let revision = revision(storage, id).saturating_sub(late);
    let change = Box::new(Change { phase, ..change(Status::Pending, 0) });
    Command::Advance { id, revision, change, at }
}

/// The customer of that number; mostly the key's own, also where a rotation made the key.
fn customer_of(storage: &MemoryLedgerStorage, key: u8, customer: u8) -> CustomerId {
    let row = storage.keys().find(|row| row.id == key_id(key)).filter(|_| customer == key / 2);
    row.map_or_else(|| customer_id(customer), |row| row.customer.clone())
}

fn idempotency(key: u8, (token, fingerprint): (u8, u8), at: UnixMs) -> Idempotency {
    Idempotency {
        key: key_id(key),
        token: Digest::of(&[token]),
        fingerprint: Digest::of(&[fingerprint]),
        expires: at.plus(STEP * 6),
    }
}

/// A bad end without a `cost`; a good one costs it, and what joined the task.
fn ending(task: Option<&Task>, cost: Option<i64>, view: Option<u8>, names: &[u8]) -> Ending {
    let joined = task.map_or(0, |task| task.joined_held.0);
    let mut ending = cost.map_or_else(failed, |cost| completed(cost + joined));
    let record = task.map_or(0, |task| task.progress);
    let claimed: Vec<Claim> = names.iter().map(|number| claim(*number, record)).collect();
    match &mut ending {
        Ending::Completed { result: shown, claims, .. } => {
            *claims = claimed;
            *shown = view.map_or_else(|| shown.clone(), result);
        }
        Ending::Failed { progress, result: shown, claims, .. } => {
            *claims = claimed;
            *progress = view.map_or(0, |view| view.min(100));
            *shown = view.map(result);
        }
    }
    ending
}

fn live(storage: &MemoryLedgerStorage, id: TaskId) -> Option<&Task> {
    storage.live_tasks().find(|live| live.id == id)
}

/// The task of that number among the live ones that are wanted; otherwise the one of that number in the pool.
fn chosen(storage: &MemoryLedgerStorage, number: u8, wanted: impl Fn(&Task) -> bool) -> TaskId {
    let wanted = || storage.live_tasks().filter(|task| wanted(task));
    let place = usize::from(number) % wanted().count().max(1);
    let living = wanted().nth(place).filter(|_| number < ANY_LIVE);
    living.map_or_else(|| task_id(number), |task| task.id)
}

fn revision(storage: &MemoryLedgerStorage, id: TaskId) -> u64 {
    live(storage, id).map_or(0, |live| live.revision)
}

/// Sequences of at most `length` templates, after a beginning that opens two customers with money and three keys, and
/// submits a task through each key.
pub fn command_sequences(length: usize) -> impl Strategy<Value = Vec<CommandTemplate>> {
    let submit = |key| CommandTemplate::Submit { task: key, key, customer: key / 2, price: 20, token: None };
    let begin = move || beginning().into_iter().chain((0..3).map(submit));
    vec(any_template(), 1..length).prop_map(move |more| begin().chain(more).collect())
}

/// What every sequence begins with.
#[must_use]
pub fn beginning() -> Vec<CommandTemplate> {
    let key =
        |key, customer, quota| CommandTemplate::AddKey { key, customer, quota, period: None, hours: None };
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

/// A quota below `most` with its period, now and then none, or one that cannot be.
fn any_quota(most: i64) -> impl Strategy<Value = (Option<i64>, Option<u8>)> {
    prop_oneof![
        2 => Just((None, None)),
        3 => (-5..most).prop_map(|quota| (Some(quota), None)),
        4 => (0..most, 0..3_u8).prop_map(|(quota, period)| (Some(quota), Some(period))),
        1 => (0..3_u8).prop_map(|period| (None, Some(period))),
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
        1 => (0..4_u8, 0..3_u8, any_quota(200), option::of(0..4_u8)).prop_map(
            |(key, customer, (quota, period), hours)| CommandTemplate::AddKey { key, customer, quota, period, hours }
        ),
        8 => (0..8_u8, late(), status, any::<u8>(), weighted(0.4), option::of(any::<u8>())).prop_map(
            |(task, late, status, progress, deliver, view)| {
                CommandTemplate::Advance { task, late, status, progress, deliver, view }
            }
        ),
        4 => (0..6_u8, late()).prop_map(|(task, late)| CommandTemplate::Send { task, late }),
        4 => (0..6_u8, late()).prop_map(|(task, late)| CommandTemplate::Lose { task, late }),
        4 => (0..6_u8, option::of(late()), 0..3_u8)
            .prop_map(|(task, late, ruling)| CommandTemplate::Reconcile { task, late, ruling }),
        1 => option::of(0..6_u8).prop_map(|task| CommandTemplate::Audit { task }),
        2 => (0..3_u8, prop_oneof![-400..400_i64, Just(i64::MAX), Just(i64::MIN)])
            .prop_map(|(customer, amount)| CommandTemplate::Deposit { customer, amount }),
        1 => (0..3_u8, late(), any_quota(300)).prop_map(|(customer, late, (quota, period))| {
            CommandTemplate::EditCustomer { customer, late, quota, period }
        }),
        2 => (0..6_u8, late(), any_quota(200), option::weighted(0.3, 1..4_u8), option::weighted(0.3, 1..3_u8))
            .prop_map(|(key, late, (quota, period), concurrency, of_model)| {
                CommandTemplate::EditKey { key, late, quota, period, concurrency, of_model }
            }),
        2 => (0..6_u8, 3..6_u8, 0..6_u32)
            .prop_map(|(key, new, steps)| CommandTemplate::RotateKey { key, new, steps }),
        4 => (0..8_u8, late(), option::weighted(0.7, -6..25_i64), option::of(any::<u8>()), vec(0..4_u8, 0..3)).prop_map(
            |(task, late, cost, view, names)| CommandTemplate::Finish { task, late, cost, view, names }
        ),
        9 => (0..6_u8, late(), prop_oneof![9 => 0..3_u8, 2 => 3..6_u8], -1..20_i64, option::of((0..3_u8, 0..2_u8)))
            .prop_map(|(task, late, key, price, token)| {
                CommandTemplate::Join { task, late, key, price, token }
            }),
        3 => (0..4_u8, 0..6_u8, -2..80_i64, 0..6_u32)
            .prop_map(|(request, key, amount, steps)| CommandTemplate::Hold { request, key, amount, steps }),
        1 => (0..3_u8).prop_map(|customer| CommandTemplate::AddCustomer { customer }),
        2 => (0..4_u8).prop_map(|request| CommandTemplate::Release { request }),
        1 => (0..4_u8).prop_map(|key| CommandTemplate::RevokeKey { key }),
        2 => (0..4_u8, -1..60_i64).prop_map(|(request, amount)| CommandTemplate::Settle { request, amount }),
        10 => (0..24_u8, 0..6_u8, 0..8_u8, -1..60_i64, option::of((0..3_u8, 0..2_u8))).prop_map(
            |(task, key, customer, price, token)| {
                // Mostly the key's own customer, now and then another one.
                let customer = if customer > 1 { key / 2 } else { customer };
                CommandTemplate::Submit { task, key, customer, price, token }
            }
        ),
        2 => (0..2_u8, 0..4_usize, weighted(0.3))
            .prop_map(|(customer, limit, early)| CommandTemplate::Forget { customer, limit, early }),
    ]
    .boxed()
}

/// What the client of a request noted down: some noted nothing.
fn tags_of(request: u8) -> Tags {
    let pairs = (0..request % 3).map(|pair| (format!("tag-{pair}"), format!("value-{request}")));
    Tags::new((request % 2 == 1).then(|| format!("user-{request}")), pairs)
}
