//! The rules of accounts, keys and the holds of requests.

use gatehouse_model::{Credits, Customer, CustomerId, Key, KeyId, RequestId, UnixMs};

use crate::apply::{Ruling, Stop};
use crate::posting::Posting;
use crate::{Answer, Hold, HoldId, LedgerStorage, Rejection};

pub(crate) fn open_account<B: LedgerStorage>(books: &mut B, id: CustomerId, at: UnixMs) -> Ruling<Answer, B> {
    if id.0.is_empty() {
        return Err(Stop::Rejected(Rejection::malformed(
            "id",
            "expected an account's name, not an empty text",
        )));
    }
    if books.account(&id)?.is_some() {
        return Err(Stop::Rejected(Rejection::AccountExists(id)));
    }
    let zero = Credits::ZERO;
    books.put_account(&Customer {
        id,
        created: at,
        available: zero,
        reserved: zero,
        spent: zero,
        deposited: zero,
    })?;
    Ok(Answer::Done)
}

pub(crate) fn deposit<B: LedgerStorage>(
    books: &mut B,
    account: &CustomerId,
    amount: Credits,
    memo: String,
    at: UnixMs,
) -> Ruling<Answer, B> {
    let account = account_of(books, account)?;
    let posting = Posting::deposit(account, amount, memo, books.head()?, at).map_err(Stop::Rejected)?;
    posting.write(books)?;
    Ok(Answer::Done)
}

pub(crate) fn add_key<B: LedgerStorage>(books: &mut B, key: Key) -> Ruling<Answer, B> {
    let malformed = |field, problem: String| Stop::Rejected(Rejection::malformed(field, problem));
    if key.id.0.is_empty() {
        return Err(malformed("id", "expected a key's public part, not an empty text".into()));
    }
    if key.used != Credits::ZERO {
        return Err(malformed("used", format!("expected a new key, not one that used {}", key.used)));
    }
    if let Some(quota) = key.quota.filter(|quota| *quota < Credits::ZERO) {
        return Err(malformed("quota", format!("expected zero or more, not {quota}")));
    }
    account_of(books, &key.account)?;
    if books.key(&key.id)?.is_some() || books.key_of(&key.digest)?.is_some() {
        return Err(Stop::Rejected(Rejection::KeyExists(key.id)));
    }
    books.put_key(&key)?;
    Ok(Answer::Done)
}

pub(crate) fn revoke_key<B: LedgerStorage>(books: &mut B, id: KeyId, at: UnixMs) -> Ruling<Answer, B> {
    let Some(mut key) = books.key(&id)? else {
        return Err(Stop::Rejected(Rejection::NoKey(id)));
    };
    if key.revoked.is_none() {
        key.revoked = Some(at);
        books.put_key(&key)?;
    }
    Ok(Answer::Done)
}

/// `span` is from when to when the hold lasts at most.
pub(crate) fn hold<B: LedgerStorage>(
    books: &mut B,
    id: RequestId,
    key: KeyId,
    amount: Credits,
    unit_price: Credits,
    span: (UnixMs, UnixMs),
) -> Ruling<Answer, B> {
    let (at, expires) = span;
    let id = HoldId::Request(id);
    if expires <= at {
        let problem = format!("expected a moment after {at}, not {expires}");
        return Err(Stop::Rejected(Rejection::malformed("expires", problem)));
    }
    if books.hold(id)?.is_some() {
        return Err(Stop::Rejected(Rejection::HoldExists(id)));
    }
    let key = valid_key(books, key, at)?;
    let hold = Hold {
        id,
        account: key.account.clone(),
        key: key.id.clone(),
        amount,
        unit_price,
        created: at,
        expires,
    };
    let posting = reservation(books, key, &hold)?;
    posting.write(books)?;
    books.put_hold(&hold)?;
    Ok(Answer::Done)
}

/// Settles `cost` of a request's hold, or releases it when there is none.
pub(crate) fn resolve<B: LedgerStorage>(
    books: &mut B,
    id: RequestId,
    cost: Option<Credits>,
    memo: String,
    at: UnixMs,
) -> Ruling<Answer, B> {
    let id = HoldId::Request(id);
    let hold = books.hold(id)?.ok_or(Stop::Rejected(Rejection::NoHold(id)))?;
    let posting = resolution(books, &hold, cost, memo, at)?;
    posting.write(books)?;
    books.remove_hold(&hold)?;
    Ok(Answer::Done)
}

/// The key, if it may be used at that moment.
pub(crate) fn valid_key<B: LedgerStorage>(books: &B, id: KeyId, at: UnixMs) -> Ruling<Key, B> {
    let Some(key) = books.key(&id)? else {
        return Err(Stop::Rejected(Rejection::NoKey(id)));
    };
    if key.revoked.is_some() {
        return Err(Stop::Rejected(Rejection::KeyRevoked(id)));
    }
    if key.expires.is_some_and(|expires| expires <= at) {
        return Err(Stop::Rejected(Rejection::KeyExpired(id)));
    }
    Ok(key)
}

/// What a new hold does to the balances, checked.
pub(crate) fn reservation<B: LedgerStorage>(books: &B, key: Key, hold: &Hold) -> Ruling<Posting, B> {
    let account = account_of(books, &key.account)?;
    Posting::hold(account, key, hold, books.head()?).map_err(Stop::Rejected)
}

/// What the end of a hold does to the balances, checked. A revoked or expired key does not matter here.
pub(crate) fn resolution<B: LedgerStorage>(
    books: &B,
    hold: &Hold,
    cost: Option<Credits>,
    memo: String,
    at: UnixMs,
) -> Ruling<Posting, B> {
    let account = account_of(books, &hold.account)?;
    let Some(key) = books.key(&hold.key)? else {
        return Err(Stop::Rejected(Rejection::NoKey(hold.key.clone())));
    };
    Posting::resolve(account, key, hold, (cost, memo), books.head()?, at).map_err(Stop::Rejected)
}

fn account_of<B: LedgerStorage>(books: &B, id: &CustomerId) -> Ruling<Customer, B> {
    books.account(id)?.ok_or_else(|| Stop::Rejected(Rejection::NoAccount(id.clone())))
}
