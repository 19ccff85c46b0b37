//! The oracle: the same commands on plain maps of numbers, written independently of the rules.

mod keys;
mod quotas;

use std::collections::{BTreeMap, VecDeque};

use gatehouse_model::{CustomerId, Digest, KeyId, Phase, Status, TaskId, UnixMs};

pub(super) use self::quotas::QuotaState;
use self::quotas::{Counted, Label};
use gatehouse_tasks::{
    Change, Command, Ending, ExpiredRow, HoldId, Idempotency, JoinRequest, Reconciliation,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BalanceState {
    pub(super) free: i64,
    pub(super) held: i64,
    pub(super) spent: i64,
    pub(super) paid_in: i64,
}

/// What an operator has decided about a customer.
#[derive(Clone, Debug, Default)]
pub(super) struct CustomerState {
    revision: u64,
    pub(super) quota: QuotaState,
}

#[derive(Clone, Debug)]
pub(super) struct KeyState {
    customer: CustomerId,
    pub(super) quota: QuotaState,
    pub(super) used: i64,
    until: Option<UnixMs>,
    revoked: bool,
    revision: u64,
    /// The key that replaced it.
    next: Option<KeyId>,
    /// How many models have limits.
    listed: usize,
    /// At a time, of all models and of model-0.
    most: Option<usize>,
    most_of_model: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct TaskState {
    pub(super) revision: u64,
    pub(super) status: Status,
    pub(super) progress: u8,
    pub(super) cost: i64,
    pub(super) public: Vec<u8>,
    /// What the next event hands over.
    pub(super) brief: Vec<u8>,
    /// Briefs of the requests that joined and wait.
    pub(super) waiting: VecDeque<Vec<u8>>,
    /// What all requests that joined have added.
    pub(super) joined: i64,
    pub(super) call: CallState,
    deadline: UnixMs,
    customer: CustomerId,
}

/// Whether a call is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    None,
    Sent,
    Lost,
}

#[derive(Clone, Debug)]
struct HoldState {
    /// What counts against each key; the first is the one it was made with.
    parts: Vec<PartState>,
    /// In which periods of the customer's quota.
    of_customer: Vec<(Label, i64)>,
    model: String,
    until: UnixMs,
}

#[derive(Clone, Debug)]
struct PartState {
    key: KeyId,
    amount: i64,
    /// In which periods of the key's quota. The rest was made while it had none.
    periods: Vec<(Label, i64)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    pub(super) balances: BTreeMap<CustomerId, BalanceState>,
    pub(super) customers: BTreeMap<CustomerId, CustomerState>,
    pub(super) keys: BTreeMap<KeyId, KeyState>,
    pub(super) tasks: BTreeMap<TaskId, TaskState>,
    /// Who owns a name, and the task that claimed it last.
    pub(super) names: BTreeMap<String, (CustomerId, TaskId)>,
    holds: BTreeMap<HoldId, HoldState>,
    seen: BTreeMap<(KeyId, Digest), (Digest, UnixMs)>,
}

impl Oracle {
    /// Whether the command is accepted; if so, it has been carried out.
    pub(super) fn accept(&mut self, command: &Command) -> bool {
        match command {
            Command::AddCustomer { id, .. } => {
                !self.balances.contains_key(id)
                    && self.customers.insert(id.clone(), CustomerState::default()).is_none()
                    && self.balances.insert(id.clone(), BalanceState::default()).is_none()
            }
            Command::EditCustomer { id, revision, policy, at } => {
                self.edit_customer(id, *revision, (policy.quota, policy.quota_period), *at)
            }
            Command::Deposit { customer, amount, .. } => self.deposit(customer, amount.0),
            Command::AddKey { key } => self.add_key(key),
            Command::RevokeKey { id, .. } => {
                let revoke = |key_state: &mut KeyState| {
                    key_state.revision += u64::from(!key_state.revoked);
                    key_state.revoked = true;
                };
                self.keys.get_mut(id).map(revoke).is_some()
            }
            Command::EditKey { id, revision, policy, at } => self.edit_key(id, *revision, policy, *at),
            Command::RotateKey { id, new, until, at, .. } => self.rotate_key(id, new, *until, *at),
            Command::Submit { task, idempotency } => self.submit(task, idempotency.as_ref()),
            Command::Advance { id, revision, change, .. } => self.advance(*id, *revision, change),
            Command::Join { parent, request, idempotency, at } => {
                self.join(*parent, request, idempotency.as_ref(), *at)
            }
            Command::Finish { id, revision, ending, .. } => self.finish(*id, *revision, ending),
            Command::Reconcile { id, revision, ruling, reason, deadline, at } => {
                !reason.is_empty() && self.reconcile(*id, *revision, ruling, *at, *deadline)
            }
            // The log moves no money.
            Command::Logged { change, .. } => self.accept(change),
            Command::Hold { id, key, model, amount, expires, at, .. } => {
                let id = HoldId::Request(*id);
                expires > at
                    && !self.holds.contains_key(&id)
                    && self.reserve(id, (key, model), amount.0, *at, *expires)
            }
            Command::Settle { id, amount, at, .. } => self.settle(HoldId::Request(*id), amount.0, *at),
            Command::Release { id, .. } => self.resolve(HoldId::Request(*id), 0, false),
            Command::Forget { customer, rows, at } => {
                for row in rows {
                    let ExpiredRow::Hold(id) = row else { continue };
                    let id = HoldId::Request(*id);
                    let is_due = self.holds.get(&id).is_some_and(|hold| {
                        hold.until <= *at
                            && Some(&self.keys[&hold.parts[0].key].customer) == customer.as_ref()
                    });
                    assert!(!is_due || self.resolve(id, 0, false));
                }
                true
            }
            // No sequence of the sample keeps responses; none of them moves money.
            Command::Administer { .. }
            | Command::Audit { .. }
            | Command::MarkLedger { .. }
            | Command::ForgetResponse { .. }
            | Command::KeepRecord { .. }
            | Command::KeepResponse { .. }
            | Command::Webhook { .. } => true,
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

    fn advance(&mut self, id: TaskId, revision: u64, change: &Change) -> bool {
        let Some(task_state) = self.tasks.get_mut(&id) else { return false };
        if task_state.status.is_final() || task_state.revision != revision || change.status.is_final() {
            return false;
        }
        let call = match &change.phase {
            Phase::Sent { .. } => CallState::Sent,
            Phase::Ambiguous { .. } if task_state.call != CallState::Sent => return false,
            Phase::Ambiguous { .. } => CallState::Lost,
            _ => CallState::None,
        };
        if task_state.call == CallState::Lost {
            return false;
        }
        let brief = if change.deliver { task_state.waiting.pop_front() } else { Some(vec![]) };
        let Some(brief) = brief else { return false };
        (task_state.brief, task_state.call) = (brief, call);
        task_state.revision += 1;
        task_state.status = task_state.status.max(change.status);
        task_state.progress = task_state.progress.max(change.progress).min(100);
        if let Some(view) = &change.view {
            task_state.public.clone_from(&view.public);
        }
        true
    }

    fn reconcile(
        &mut self,
        id: TaskId,
        revision: Option<u64>,
        ruling: &Reconciliation,
        at: UnixMs,
        deadline: UnixMs,
    ) -> bool {
        let Some(task_state) = self.tasks.get_mut(&id) else { return false };
        let is_current = revision.is_none_or(|revision| revision == task_state.revision);
        let is_lost = task_state.call == CallState::Lost && !task_state.status.is_final();
        if !is_current || !is_lost || at >= task_state.deadline.max(deadline) {
            return false;
        }
        task_state.call = CallState::None;
        task_state.revision += 1;
        if *ruling != Reconciliation::Fail {
            return true;
        }
        task_state.brief.clear();
        task_state.waiting.clear();
        task_state.status = Status::Failed;
        self.resolve(HoldId::Task(id), 0, false)
    }

    /// Whether it came before with the same fingerprint, if it came before.
    fn repeated(&self, idempotency: Option<&Idempotency>, at: UnixMs) -> Option<bool> {
        let idempotency = idempotency?;
        let (fingerprint, until) = self.seen.get(&(idempotency.key.clone(), idempotency.token))?;
        (*until > at).then(|| *fingerprint == idempotency.fingerprint)
    }

    fn remember(&mut self, idempotency: Option<&Idempotency>) {
        if let Some(idempotency) = idempotency {
            self.seen.insert(
                (idempotency.key.clone(), idempotency.token),
                (idempotency.fingerprint, idempotency.expires),
            );
        }
    }

    fn join(
        &mut self,
        parent: TaskId,
        request: &JoinRequest,
        idempotency: Option<&Idempotency>,
        at: UnixMs,
    ) -> bool {
        if let Some(same) = self.repeated(idempotency, at) {
            return same;
        }
        let Some(customer) = self.keys.get(&request.key).map(|key_state| key_state.customer.clone()) else {
            return false;
        };
        let fits = self.tasks.get(&parent).is_some_and(|task_state| {
            let judged = (request.judged.revision, request.judged.undelivered);
            task_state.customer == customer
                && !task_state.status.is_final()
                && task_state.waiting.len() < 16
                && judged == (task_state.revision, task_state.waiting.len())
        });
        if !fits {
            return false;
        }
        let Some((part, of_customer)) = self.take(&request.key, request.held.0, at) else { return false };
        let hold = self.holds.get_mut(&HoldId::Task(parent)).unwrap();
        hold.of_customer.extend(of_customer);
        match hold.parts.iter_mut().find(|known| known.key == part.key) {
            Some(known) => {
                known.amount += part.amount;
                known.periods.extend(part.periods);
            }
            None => hold.parts.push(part),
        }
        let task_state = self.tasks.get_mut(&parent).unwrap();
        task_state.waiting.push_back(request.brief.to_vec());
        task_state.joined += request.held.0;
        task_state.deadline = task_state.deadline.max(request.deadline);
        self.remember(idempotency);
        true
    }

    fn submit(&mut self, task: &gatehouse_model::Task, idempotency: Option<&Idempotency>) -> bool {
        if let Some(same) = self.repeated(idempotency, task.created) {
            return same;
        }
        let foreign = self.keys.get(&task.key).is_none_or(|key_state| key_state.customer != task.customer);
        let id = HoldId::Task(task.id);
        if foreign
            || self.tasks.contains_key(&task.id)
            || !self.reserve(id, (&task.key, &task.model), task.held.0, task.created, task.deadline)
        {
            return false;
        }
        let task_state = TaskState {
            revision: task.revision,
            status: task.status,
            progress: task.progress,
            cost: 0,
            public: vec![],
            brief: task.brief.to_vec(),
            waiting: VecDeque::new(),
            joined: 0,
            call: CallState::None,
            deadline: task.deadline,
            customer: task.customer.clone(),
        };
        self.tasks.insert(task.id, task_state);
        self.remember(idempotency);
        true
    }

    fn finish(&mut self, id: TaskId, revision: u64, ending: &Ending) -> bool {
        let (status, cost, progress, shown, claims) = match ending {
            Ending::Completed { cost, result, claims } => {
                (Status::Completed, cost.0, 100, Some(&result.public), claims)
            }
            Ending::Failed { progress, result, claims, .. } => {
                (Status::Failed, 0, *progress, result.as_ref().map(|result| &result.public), claims)
            }
        };
        let Some(task_state) = self.tasks.get(&id) else { return false };
        let customer = task_state.customer.clone();
        let foreign = |name: &String| self.names.get(name).is_some_and(|(owner, _)| *owner != customer);
        let twice =
            (1..claims.len()).any(|at| claims[..at].iter().any(|claim| claim.name == claims[at].name));
        let completes = status == Status::Completed;
        let early = completes && (!task_state.waiting.is_empty() || cost < task_state.joined);
        let is_lost = task_state.call == CallState::Lost;
        let fits =
            !task_state.status.is_final() && task_state.revision == revision && !(completes && is_lost);
        if early || twice || !fits || claims.iter().any(|claim| foreign(&claim.name)) {
            return false;
        }
        if !self.resolve(HoldId::Task(id), cost, completes) {
            return false;
        }
        for claim in claims {
            self.names.insert(claim.name.clone(), (customer.clone(), id));
        }
        let task_state = self.tasks.get_mut(&id).unwrap();
        task_state.public = shown.cloned().unwrap_or_else(|| task_state.public.clone());
        task_state.brief.clear();
        task_state.waiting.clear();
        task_state.call = CallState::None;
        (task_state.status, task_state.cost, task_state.revision) = (status, cost, revision + 1);
        task_state.progress = task_state.progress.max(progress);
        true
    }

    fn reserve(
        &mut self,
        id: HoldId,
        (key, model): (&KeyId, &str),
        amount: i64,
        at: UnixMs,
        until: UnixMs,
    ) -> bool {
        if !self.keys.contains_key(key) {
            return false;
        }
        let newest = self.lineage(key).pop().unwrap();
        let KeyState { most, most_of_model, .. } = self.keys[&newest];
        let full = most.is_some_and(|most| self.open(&newest, |_| true) >= most);
        let full_of_model = model == "model-0"
            && most_of_model.is_some_and(|most| self.open(&newest, |open| open == model) >= most);
        if full || full_of_model {
            return false;
        }
        let Some((part, of_customer)) = self.take(key, amount, at) else { return false };
        let hold = HoldState {
            parts: vec![part],
            of_customer: of_customer.into_iter().collect(),
            model: model.to_owned(),
            until,
        };
        self.holds.insert(id, hold).is_none()
    }

    /// Moves what is free into what is held, and says in which periods it counts.
    fn take(&mut self, key: &KeyId, amount: i64, at: UnixMs) -> Option<(PartState, Option<(Label, i64)>)> {
        let key_state = self.keys.get(key)?;
        let ended = key_state.revoked || key_state.until.is_some_and(|until| until <= at);
        // A hold of nothing fits into a quota that is exceeded.
        let most = if amount == 0 { 0 } else { self.left(key, at) };
        if ended || amount < 0 || amount > most {
            return None;
        }
        let (of_key, of_customer) = self.charge(key, amount, at);
        let periods = of_key.into_iter().collect();
        Some((PartState { key: key.clone(), amount, periods }, of_customer))
    }

    /// What a key may still hold: what is free, and what the quotas leave.
    fn left(&self, key: &KeyId, at: UnixMs) -> i64 {
        let newest = &self.keys[self.lineage(key).last().unwrap()];
        let balance = &self.balances[&newest.customer];
        let of_customer = &self.customers[&newest.customer].quota;
        let quotas = [newest.quota.left(newest.used, at), of_customer.left(balance.held + balance.spent, at)];
        quotas.into_iter().flatten().fold(balance.free, i64::min)
    }

    /// Holds so much more, whatever is left.
    fn charge(&mut self, key: &KeyId, amount: i64, at: UnixMs) -> (Counted, Counted) {
        let lineage = self.lineage(key);
        lineage.iter().for_each(|key| self.keys.get_mut(key).unwrap().used += amount);
        let newest = self.keys.get_mut(lineage.last().unwrap()).unwrap();
        let balance = self.balances.get_mut(&newest.customer).unwrap();
        balance.free -= amount;
        balance.held += amount;
        let of_customer = &mut self.customers.get_mut(&newest.customer).unwrap().quota;
        (newest.quota.add(amount, at), of_customer.add(amount, at))
    }

    /// Settles a request: what it cost above its hold is held in addition, as far as balance and quotas go.
    fn settle(&mut self, id: HoldId, cost: i64, at: UnixMs) -> bool {
        let Some(HoldState { parts, .. }) = self.holds.get(&id) else { return false };
        let PartState { key, amount: held, .. } = parts[0].clone();
        if cost <= held {
            return self.resolve(id, cost, true);
        }
        let more = self.left(&key, at).max(0).min(cost - held);
        self.charge(&key, more, at);
        self.holds.get_mut(&id).unwrap().parts[0].amount += more;
        self.resolve(id, held + more, true)
    }

    /// Settles `cost`, or gives everything back. What joined through other keys is settled whole, by them.
    fn resolve(&mut self, id: HoldId, cost: i64, settles: bool) -> bool {
        let Some(HoldState { parts, of_customer, .. }) = self.holds.get(&id).cloned() else { return false };
        let total: i64 = parts.iter().map(|part| part.amount).sum();
        if cost < 0 || cost > total {
            return false;
        }
        let customer = self.keys[&parts[0].key].customer.clone();
        self.customers.get_mut(&customer).unwrap().quota.give_back(total - cost, total, &of_customer);
        let mut left = cost;
        for PartState { key, amount, periods } in parts.iter().rev() {
            let is_first = *key == parts[0].key;
            let paid = if is_first { left } else { i64::from(settles) * amount };
            left -= paid;
            let balance = self.balances.get_mut(&customer).unwrap();
            balance.held -= amount;
            balance.free += amount - paid;
            balance.spent += paid;
            let lineage = self.lineage(key);
            for key in &lineage {
                self.keys.get_mut(key).unwrap().used -= amount - paid;
            }
            let newest = self.keys.get_mut(lineage.last().unwrap()).unwrap();
            newest.quota.give_back(amount - paid, *amount, periods);
        }
        self.holds.remove(&id).is_some()
    }
}
