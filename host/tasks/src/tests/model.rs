//! A tiny second opinion: the same commands on plain maps of numbers, written without looking at the rules.

use std::collections::BTreeMap;

use gatehouse_model::{CustomerId, Digest, KeyId, Status, TaskId, UnixMs};

use crate::{Command, Ending, HoldId, Idempotency};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Purse {
    pub(super) free: i64,
    pub(super) held: i64,
    pub(super) spent: i64,
    pub(super) paid_in: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Pass {
    account: CustomerId,
    quota: Option<i64>,
    pub(super) used: i64,
    until: Option<UnixMs>,
    revoked: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) revision: u64,
    pub(super) status: Status,
    pub(super) progress: u8,
    pub(super) cost: i64,
}

#[derive(Clone, Debug)]
struct Reserve {
    key: KeyId,
    amount: i64,
    until: UnixMs,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) purses: BTreeMap<CustomerId, Purse>,
    pub(super) passes: BTreeMap<KeyId, Pass>,
    pub(super) jobs: BTreeMap<TaskId, Job>,
    reserves: BTreeMap<HoldId, Reserve>,
    seen: BTreeMap<(KeyId, Digest), (Digest, UnixMs)>,
}

impl Model {
    /// Whether the command is accepted; if so, it has been carried out.
    pub(super) fn accept(&mut self, command: &Command) -> bool {
        match command {
            Command::OpenAccount { id, .. } => {
                !self.purses.contains_key(id) && self.purses.insert(id.clone(), Purse::default()).is_none()
            }
            Command::Deposit { account, amount, .. } => self.deposit(account, amount.0),
            Command::AddKey { key } => self.add_key(key),
            Command::RevokeKey { id, .. } => {
                self.passes.get_mut(id).map(|pass| pass.revoked = true).is_some()
            }
            Command::Submit { task, idempotency } => self.submit(task, idempotency.as_ref()),
            Command::Advance { id, revision, change, .. } => match self.jobs.get_mut(id) {
                Some(job)
                    if !job.status.is_final() && job.revision == *revision && !change.status.is_final() =>
                {
                    job.revision += 1;
                    job.status = job.status.max(change.status);
                    job.progress = job.progress.max(change.progress).min(100);
                    true
                }
                _ => false,
            },
            Command::Finish { id, revision, ending, .. } => self.finish(*id, *revision, ending),
            Command::Hold { id, key, amount, expires, at, .. } => {
                let id = HoldId::Request(*id);
                expires > at
                    && !self.reserves.contains_key(&id)
                    && self.reserve(id, key, amount.0, *at, *expires)
            }
            Command::Settle { id, amount, .. } => self.resolve(HoldId::Request(*id), amount.0),
            Command::Release { id, .. } => self.resolve(HoldId::Request(*id), 0),
            Command::SweepHolds { now, limit } => {
                let mut due: Vec<_> =
                    self.reserves.iter().map(|(id, reserve)| (reserve.until, *id)).collect();
                due.retain(|(until, id)| until <= now && matches!(id, HoldId::Request(_)));
                due.sort();
                due.into_iter().take(*limit).all(|(_, id)| self.resolve(id, 0))
            }
            Command::DropHistory { before_day } => {
                let live = self.jobs.iter().filter(|(_, job)| !job.status.is_final());
                let oldest = live.map(|(id, _)| id.born().day()).min().unwrap_or(u32::MAX);
                self.jobs.retain(|id, _| id.born().day() >= oldest.min(*before_day));
                true
            }
            Command::Audit { .. } | Command::Sweep { .. } => true,
        }
    }

    fn deposit(&mut self, account: &CustomerId, amount: i64) -> bool {
        let Some(purse) = self.purses.get_mut(account) else { return false };
        let fits = purse.paid_in.checked_add(amount).is_some() && amount != i64::MIN;
        if amount == 0 || !fits || purse.free + amount < 0 {
            return false;
        }
        purse.free += amount;
        purse.paid_in += amount;
        true
    }

    fn add_key(&mut self, key: &gatehouse_model::Key) -> bool {
        let bad = key.quota.is_some_and(|quota| quota.0 < 0) || self.passes.contains_key(&key.id);
        if bad || !self.purses.contains_key(&key.account) {
            return false;
        }
        let pass = Pass {
            account: key.account.clone(),
            quota: key.quota.map(|quota| quota.0),
            used: 0,
            until: key.expires,
            revoked: false,
        };
        self.passes.insert(key.id.clone(), pass).is_none()
    }

    fn submit(&mut self, task: &gatehouse_model::Task, asked: Option<&Idempotency>) -> bool {
        if let Some(asked) = asked
            && let Some((fingerprint, until)) = self.seen.get(&(asked.key.clone(), asked.token))
            && *until > task.created
        {
            return *fingerprint == asked.fingerprint;
        }
        let foreign = self.passes.get(&task.key).is_none_or(|pass| pass.account != task.account);
        let id = HoldId::Task(task.id);
        if foreign
            || self.jobs.contains_key(&task.id)
            || !self.reserve(id, &task.key, task.held.0, task.created, task.deadline)
        {
            return false;
        }
        let job = Job { revision: task.revision, status: task.status, progress: task.progress, cost: 0 };
        self.jobs.insert(task.id, job);
        if let Some(asked) = asked {
            self.seen.insert((asked.key.clone(), asked.token), (asked.fingerprint, asked.expires));
        }
        true
    }

    fn finish(&mut self, id: TaskId, revision: u64, ending: &Ending) -> bool {
        let (status, cost) = match ending {
            Ending::Completed { cost, .. } => (Status::Completed, cost.0),
            Ending::Failed(_) => (Status::Failed, 0),
        };
        let fits = self.jobs.get(&id).is_some_and(|job| !job.status.is_final() && job.revision == revision);
        if !fits || !self.resolve(HoldId::Task(id), cost) {
            return false;
        }
        let job = self.jobs.get_mut(&id).unwrap();
        (job.status, job.cost, job.revision) = (status, cost, revision + 1);
        job.progress = if status == Status::Completed { 100 } else { job.progress };
        true
    }

    fn reserve(&mut self, id: HoldId, key: &KeyId, amount: i64, at: UnixMs, until: UnixMs) -> bool {
        let Some(pass) = self.passes.get_mut(key) else { return false };
        let purse = self.purses.get_mut(&pass.account).unwrap();
        let ended = pass.revoked || pass.until.is_some_and(|until| until <= at);
        if ended
            || amount < 0
            || amount > purse.free
            || pass.quota.is_some_and(|quota| pass.used + amount > quota)
        {
            return false;
        }
        purse.free -= amount;
        purse.held += amount;
        pass.used += amount;
        self.reserves.insert(id, Reserve { key: key.clone(), amount, until }).is_none()
    }

    fn resolve(&mut self, id: HoldId, cost: i64) -> bool {
        let Some(Reserve { key, amount, .. }) = self.reserves.get(&id).cloned() else { return false };
        if cost < 0 || cost > amount {
            return false;
        }
        let pass = self.passes.get_mut(&key).unwrap();
        let purse = self.purses.get_mut(&pass.account).unwrap();
        purse.held -= amount;
        purse.free += amount - cost;
        purse.spent += cost;
        pass.used -= amount - cost;
        self.reserves.remove(&id).is_some()
    }
}
