//! The oracle: the same commands on plain maps of numbers, written independently of the rules.

use std::collections::BTreeMap;

use gatehouse_model::{CustomerId, Digest, KeyId, Status, TaskId, UnixMs};

use crate::commands::command::{Command, Ending, Idempotency};
use crate::ledger::hold::HoldId;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BalanceState {
    pub(super) free: i64,
    pub(super) held: i64,
    pub(super) spent: i64,
    pub(super) paid_in: i64,
}

#[derive(Clone, Debug)]
pub(super) struct KeyState {
    customer: CustomerId,
    quota: Option<i64>,
    pub(super) used: i64,
    until: Option<UnixMs>,
    revoked: bool,
}

#[derive(Clone, Debug)]
pub(super) struct TaskState {
    pub(super) revision: u64,
    pub(super) status: Status,
    pub(super) progress: u8,
    pub(super) cost: i64,
}

#[derive(Clone, Debug)]
struct HoldState {
    key: KeyId,
    amount: i64,
    until: UnixMs,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    pub(super) balances: BTreeMap<CustomerId, BalanceState>,
    pub(super) keys: BTreeMap<KeyId, KeyState>,
    pub(super) tasks: BTreeMap<TaskId, TaskState>,
    holds: BTreeMap<HoldId, HoldState>,
    seen: BTreeMap<(KeyId, Digest), (Digest, UnixMs)>,
}

impl Oracle {
    /// Whether the command is accepted; if so, it has been carried out.
    pub(super) fn accept(&mut self, command: &Command) -> bool {
        match command {
            Command::AddCustomer { id, .. } => {
                !self.balances.contains_key(id)
                    && self.balances.insert(id.clone(), BalanceState::default()).is_none()
            }
            Command::Deposit { customer, amount, .. } => self.deposit(customer, amount.0),
            Command::AddKey { key } => self.add_key(key),
            Command::RevokeKey { id, .. } => {
                self.keys.get_mut(id).map(|key_state| key_state.revoked = true).is_some()
            }
            Command::Submit { task, idempotency } => self.submit(task, idempotency.as_ref()),
            Command::Advance { id, revision, change, .. } => match self.tasks.get_mut(id) {
                Some(task_state)
                    if !task_state.status.is_final()
                        && task_state.revision == *revision
                        && !change.status.is_final() =>
                {
                    task_state.revision += 1;
                    task_state.status = task_state.status.max(change.status);
                    task_state.progress = task_state.progress.max(change.progress).min(100);
                    true
                }
                _ => false,
            },
            Command::Finish { id, revision, ending, .. } => self.finish(*id, *revision, ending),
            Command::Hold { id, key, amount, expires, at, .. } => {
                let id = HoldId::Request(*id);
                expires > at
                    && !self.holds.contains_key(&id)
                    && self.reserve(id, key, amount.0, *at, *expires)
            }
            Command::Settle { id, amount, .. } => self.resolve(HoldId::Request(*id), amount.0),
            Command::Release { id, .. } => self.resolve(HoldId::Request(*id), 0),
            Command::SweepHolds { now, limit } => {
                let mut due: Vec<_> = self.holds.iter().map(|(id, reserve)| (reserve.until, *id)).collect();
                due.retain(|(until, id)| until <= now && matches!(id, HoldId::Request(_)));
                due.sort();
                due.into_iter().take(*limit).all(|(_, id)| self.resolve(id, 0))
            }
            Command::DropHistory { before_day } => {
                let live = self.tasks.iter().filter(|(_, task_state)| !task_state.status.is_final());
                let oldest = live.map(|(id, _)| id.timestamp().day()).min().unwrap_or(u32::MAX);
                self.tasks.retain(|id, _| id.timestamp().day() >= oldest.min(*before_day));
                true
            }
            Command::Audit { .. } | Command::Sweep { .. } => true,
        }
    }

    fn deposit(&mut self, customer: &CustomerId, amount: i64) -> bool {
        let Some(balance) = self.balances.get_mut(customer) else { return false };
        let fits = balance.paid_in.checked_add(amount).is_some() && amount != i64::MIN;
        if amount == 0 || !fits || balance.free + amount < 0 {
            return false;
        }
        balance.free += amount;
        balance.paid_in += amount;
        true
    }

    fn add_key(&mut self, key: &gatehouse_model::Key) -> bool {
        let bad = key.quota.is_some_and(|quota| quota.0 < 0) || self.keys.contains_key(&key.id);
        if bad || !self.balances.contains_key(&key.customer) {
            return false;
        }
        let key_state = KeyState {
            customer: key.customer.clone(),
            quota: key.quota.map(|quota| quota.0),
            used: 0,
            until: key.expires,
            revoked: false,
        };
        self.keys.insert(key.id.clone(), key_state).is_none()
    }

    fn submit(&mut self, task: &gatehouse_model::Task, idempotency: Option<&Idempotency>) -> bool {
        if let Some(idempotency) = idempotency
            && let Some((fingerprint, until)) = self.seen.get(&(idempotency.key.clone(), idempotency.token))
            && *until > task.created
        {
            return *fingerprint == idempotency.fingerprint;
        }
        let foreign = self.keys.get(&task.key).is_none_or(|key_state| key_state.customer != task.customer);
        let id = HoldId::Task(task.id);
        if foreign
            || self.tasks.contains_key(&task.id)
            || !self.reserve(id, &task.key, task.held.0, task.created, task.deadline)
        {
            return false;
        }
        let task_state =
            TaskState { revision: task.revision, status: task.status, progress: task.progress, cost: 0 };
        self.tasks.insert(task.id, task_state);
        if let Some(idempotency) = idempotency {
            self.seen.insert(
                (idempotency.key.clone(), idempotency.token),
                (idempotency.fingerprint, idempotency.expires),
            );
        }
        true
    }

    fn finish(&mut self, id: TaskId, revision: u64, ending: &Ending) -> bool {
        let (status, cost) = match ending {
            Ending::Completed { cost, .. } => (Status::Completed, cost.0),
            Ending::Failed(_) => (Status::Failed, 0),
        };
        let fits = self
            .tasks
            .get(&id)
            .is_some_and(|task_state| !task_state.status.is_final() && task_state.revision == revision);
        if !fits || !self.resolve(HoldId::Task(id), cost) {
            return false;
        }
        let task_state = self.tasks.get_mut(&id).unwrap();
        (task_state.status, task_state.cost, task_state.revision) = (status, cost, revision + 1);
        task_state.progress = if status == Status::Completed { 100 } else { task_state.progress };
        true
    }

    fn reserve(&mut self, id: HoldId, key: &KeyId, amount: i64, at: UnixMs, until: UnixMs) -> bool {
        let Some(key_state) = self.keys.get_mut(key) else { return false };
        let balance = self.balances.get_mut(&key_state.customer).unwrap();
        let ended = key_state.revoked || key_state.until.is_some_and(|until| until <= at);
        if ended
            || amount < 0
            || amount > balance.free
            || key_state.quota.is_some_and(|quota| key_state.used + amount > quota)
        {
            return false;
        }
        balance.free -= amount;
        balance.held += amount;
        key_state.used += amount;
        self.holds.insert(id, HoldState { key: key.clone(), amount, until }).is_none()
    }

    fn resolve(&mut self, id: HoldId, cost: i64) -> bool {
        let Some(HoldState { key, amount, .. }) = self.holds.get(&id).cloned() else { return false };
        if cost < 0 || cost > amount {
            return false;
        }
        let key_state = self.keys.get_mut(&key).unwrap();
        let balance = self.balances.get_mut(&key_state.customer).unwrap();
        balance.held -= amount;
        balance.free += amount - cost;
        balance.spent += cost;
        key_state.used -= amount - cost;
        self.holds.remove(&id).is_some()
    }
}
