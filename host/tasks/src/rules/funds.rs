//! The rules of customers and the holds of requests.

use std::ops::Range;

use gatehouse_model::{
    Credits, Customer, CustomerId, CustomerPolicy, Key, KeyId, QuotaUse, RequestId, UnixMs, Usage,
};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop, customer_of};
use crate::ledger::balanced_entry::{BalancedEntry, Written, check_affordable};
use crate::ledger::key_lineage::KeyLineage;
use crate::ledger::quota::PeriodCounter;
use crate::records::hold::{Hold, HoldId};
use crate::records::journal_entry::Note;
use crate::rules::keys::{check_quota_alert, check_quota_policy};
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};
use crate::webhooks::alerts;

/// Bytes of the name of a variant of the price book.
pub const MAX_VARIANT_NAME: usize = 32;

pub(crate) fn add_customer<B: LedgerStorage>(
    storage: &mut B,
    id: CustomerId,
    policy: CustomerPolicy,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if id.0.is_empty() {
        return Err(Stop::Rejected(Rejection::malformed(
            "id",
            "expected a customer's name, not an empty text",
        )));
    }
    if storage.customer(&id)?.is_some() {
        return Err(Stop::Rejected(Rejection::CustomerExists(id)));
    }
    check_policy(&policy)?;
    storage.put_customer(&Customer::new(id, at, policy))?;
    Ok(Applied::Done)
}

/// Replaces the whole policy of a customer that is as the sender saw it.
pub(crate) fn edit_customer<B: LedgerStorage>(
    storage: &mut B,
    id: &CustomerId,
    revision: u64,
    policy: CustomerPolicy,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let before = customer_of(storage, id)?;
    if before.revision != revision {
        let (customer, current) = (before.id, before.revision);
        return Err(Stop::Rejected(Rejection::CustomerChanged { customer, given: revision, current }));
    }
    check_policy(&policy)?;
    let is_other_period = policy.quota_period != before.quota_period;
    let is_other_quota = is_other_period || policy.quota != before.quota;
    let is_news = is_other_quota || policy.quota_alert != before.quota_alert;
    let revision = revision.saturating_add(1);
    let mut customer = Customer { revision, ..before.clone().with_policy(policy) };
    if is_other_quota {
        PeriodCounter::of_customer(&mut customer).edited(is_other_period, at);
        customer.used_before_quota = customer.quota_use(at).map_or(Credits::ZERO, |quota| quota.used);
    }
    // Another quota, or another share of it, is news again.
    let news = Customer { quota_told: before.quota_told.filter(|_| !is_news), ..before };
    let due = alerts::due(&news, &mut customer, at);
    storage.put_customer(&customer)?;
    alerts::tell(storage, &customer, &due, at)?;
    Ok(Applied::Customer(Box::new(customer)))
}

fn check_policy<E>(policy: &CustomerPolicy) -> Result<(), Stop<E>> {
    check_quota_policy(policy.quota, policy.quota_period)?;
    check_quota_alert(policy.quota_alert)?;
    let malformed = |field, problem: String| Err(Stop::Rejected(Rejection::malformed(field, problem)));
    match (policy.low_balance, &policy.price_variant) {
        (Some(low), _) if low < Credits::ZERO => {
            malformed("low_balance", format!("expected zero or more, not {low}"))
        }
        (_, Some(name)) if name.is_empty() || name.len() > MAX_VARIANT_NAME => {
            malformed("price_variant", format!("expected 1 to {MAX_VARIANT_NAME} bytes, not {}", name.len()))
        }
        _ => Ok(()),
    }
}

pub(crate) fn deposit<B: LedgerStorage>(
    storage: &mut B,
    customer: &CustomerId,
    amount: Credits,
    memo: String,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let customer = customer_of(storage, customer)?;
    let entry = BalancedEntry::deposit(customer, amount, memo, at).map_err(Stop::Rejected)?;
    let Written { position, entry, customer } = entry.write(storage)?;
    Ok(Applied::Deposited { position, entry: Box::new(entry), customer: Box::new(customer) })
}

/// `lasts` is from when to when at most.
pub(crate) fn hold<B: LedgerStorage>(
    storage: &mut B,
    id: RequestId,
    key: KeyId,
    amount: Credits,
    model: String,
    lasts: Range<UnixMs>,
) -> Ruling<Applied, B> {
    let (id, Range { start: at, end: expires }) = (HoldId::Request(id), lasts);
    if expires <= at {
        let problem = format!("expected a moment after {at}, not {expires}");
        return Err(Stop::Rejected(Rejection::malformed("expires", problem)));
    }
    if storage.hold(id)?.is_some() {
        return Err(Stop::Rejected(Rejection::HoldExists(id)));
    }
    let key = valid_key(storage, key, at)?;
    let hold = Hold {
        id,
        customer: key.customer.clone(),
        key: key.id.clone(),
        amount,
        created: at,
        expires,
        shares: Vec::new(),
        model,
        counted: None,
        counted_of_customer: None,
    };
    let entry = reservation(storage, key, &hold)?;
    let hold = hold.reserved(entry.counted());
    entry.write(storage)?;
    storage.put_hold(&hold)?;
    Ok(Applied::Done)
}

/// Settles `cost` of a request's hold, or releases it without a cost. What it cost above the hold is taken from what
/// is left; what nobody can pay is the operator's cost, and on record.
pub(crate) fn resolve<B: LedgerStorage>(
    storage: &mut B,
    id: RequestId,
    cost: Option<Credits>,
    note: Note,
    tokens: Usage,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let id = HoldId::Request(id);
    let hold = storage.hold(id)?.ok_or(Stop::Rejected(Rejection::NoHold(id)))?;
    let paid = cost.map(|cost| payable(storage, &hold, cost, at)).transpose()?;
    resolution(storage, &hold, paid, &note, at)?.write(storage, &hold.model, tokens)?;
    storage.remove_hold(&hold)?;
    let Some((cost, paid)) = cost.zip(paid) else { return Ok(Applied::Done) };
    let unpaid = cost.checked_sub(paid).ok_or(Stop::Rejected(Rejection::Overflow))?;
    if unpaid > Credits::ZERO {
        let Hold { customer, key, amount, .. } = &hold;
        let text = format!(
            "text request {id} of customer {customer}, key {key}: it cost {cost} credits, {amount} were held and {paid} paid; \
             {unpaid} are the operator's cost"
        );
        storage.append_audit(&AuditRecord { at, text, ..AuditRecord::default() })?;
    }
    Ok(Applied::Settled { paid, unpaid })
}

/// What of a request's `cost` its hold, its customer and its key have together, by what their quotas allow at that moment.
fn payable<B: LedgerStorage>(storage: &B, hold: &Hold, cost: Credits, at: UnixMs) -> Ruling<Credits, B> {
    if cost <= hold.amount {
        return Ok(cost);
    }
    let customer = customer_of(storage, &hold.customer)?;
    let key = storage.key(&hold.key)?;
    let key = key.ok_or_else(|| Stop::Rejected(Rejection::NoKey(hold.key.clone())))?;
    let quotas = [KeyLineage::read(storage, key)?.quota_use(at), customer.quota_use(at)];
    let left = quotas.iter().flatten().map(QuotaUse::remaining).fold(customer.available, Credits::min);
    let most = hold.amount.checked_add(left.max(Credits::ZERO));
    most.map(|most| cost.min(most)).ok_or(Stop::Rejected(Rejection::Overflow))
}

/// The key, if it may be used at that moment.
pub(crate) fn valid_key<B: LedgerStorage>(storage: &B, id: KeyId, at: UnixMs) -> Ruling<Key, B> {
    let Some(key) = storage.key(&id)? else {
        return Err(Stop::Rejected(Rejection::NoKey(id)));
    };
    check_key(&key, at).map_err(Stop::Rejected)?;
    Ok(key)
}

fn check_key(key: &Key, at: UnixMs) -> Result<(), Rejection> {
    if key.revoked.is_some() {
        return Err(Rejection::KeyRevoked(key.id.clone()));
    }
    if key.expires.is_some_and(|expires| expires <= at) {
        return Err(Rejection::KeyExpired(key.id.clone()));
    }
    Ok(())
}

/// Whether a hold of that amount would be accepted at that moment: the rules of [`hold`](crate::Command::Hold) as a
/// question, which changes nothing. A request that joins an open hold has no `model`, because it opens nothing.
///
/// # Errors
/// The rejection that the command would get.
pub fn check_funds(
    customer: &Customer,
    key: &KeyLineage,
    amount: Credits,
    model: Option<&str>,
    at: UnixMs,
) -> Result<(), Rejection> {
    check_key(&key.key, at)?;
    model.map_or(Ok(()), |model| key.check_concurrency(model))?;
    check_affordable(customer, key, amount, at)
}

/// What a new hold does to the balances, checked.
pub(crate) fn reservation<B: LedgerStorage>(storage: &B, key: Key, hold: &Hold) -> Ruling<BalancedEntry, B> {
    let customer = customer_of(storage, &key.customer)?;
    let key = KeyLineage::read(storage, key)?;
    BalancedEntry::hold(customer, key, hold).map_err(Stop::Rejected)
}

/// What more of an open hold does to the balances, checked.
pub(crate) fn addition<B: LedgerStorage>(
    storage: &B,
    key: Key,
    hold: &Hold,
    amount: Credits,
    at: UnixMs,
) -> Ruling<BalancedEntry, B> {
    let customer = customer_of(storage, &hold.customer)?;
    let key = KeyLineage::read(storage, key)?;
    BalancedEntry::join(customer, key, hold, amount, at).map_err(Stop::Rejected)
}

/// What the end of a hold does to the balances, checked.
pub(crate) struct Resolution(Vec<BalancedEntry>);

impl Resolution {
    /// Writes the rows and what they add to the sums of usage. The tokens are the hold's own key's.
    pub(crate) fn write<B: LedgerStorage>(
        self,
        storage: &mut B,
        model: &str,
        tokens: Usage,
    ) -> Result<(), B::Error> {
        let tokens = std::iter::once(tokens).chain(std::iter::repeat(Usage::default()));
        for (entry, tokens) in self.0.into_iter().zip(tokens) {
            if let Some((key, sums)) = entry.usage(model, tokens) {
                storage.add_usage(key, sums)?;
            }
            entry.write(storage)?;
        }
        Ok(())
    }
}

/// Works out the end of a hold. A revoked or expired key does not matter here.
pub(crate) fn resolution<B: LedgerStorage>(
    storage: &B,
    hold: &Hold,
    cost: Option<Credits>,
    note: &Note,
    at: UnixMs,
) -> Ruling<Resolution, B> {
    let customer = customer_of(storage, &hold.customer)?;
    let mut keys = Vec::with_capacity(1 + hold.shares.len());
    for id in std::iter::once(&hold.key).chain(hold.shares.iter().map(|share| &share.key)) {
        let key = storage.key(id)?.ok_or_else(|| Stop::Rejected(Rejection::NoKey(id.clone())))?;
        keys.push(KeyLineage::read(storage, key)?);
    }
    let entries = BalancedEntry::resolve(customer, keys, hold, cost, note, at);
    entries.map(Resolution).map_err(Stop::Rejected)
}
