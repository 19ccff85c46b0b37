//! The rules of these rows: numbered without gaps, cut to their bounds, and the oldest go.

use crate::commands::command::Applied;
use crate::commands::rejection::Ruling;
use crate::records::changes::price_changes;
use crate::records::operator::{
    AccountRecord, DeploymentKind, DeploymentRecord, MAX_DEPLOYMENTS, MAX_PRICE_BOOKS, MAX_PRICES,
    MAX_RECORD_TEXT, MAX_STAGES, OperatorRecord, PriceVersion,
};
use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::operators::{self, AccountNews, RolledBackCanary};

/// Keeps a row, and forgets the oldest beyond the bound.
pub(crate) fn keep<B: LedgerStorage>(storage: &mut B, record: OperatorRecord) -> Ruling<Applied, B> {
    match record {
        OperatorRecord::PriceBook(book) => keep_price_book(storage, book),
        OperatorRecord::Deployment(deployment) => keep_deployment(storage, deployment),
        OperatorRecord::Account(account) => tell_of_account(storage, account),
    }
}

fn keep_price_book<B: LedgerStorage>(storage: &mut B, mut book: PriceVersion) -> Ruling<Applied, B> {
    let newest = storage.newest_price_book()?;
    if newest.as_ref().is_some_and(|newest| newest.digest == book.digest) {
        return Ok(Applied::Done);
    }
    book.prices.sort_by(|one, other| (&one.key, one.part).cmp(&(&other.key, other.part)));
    book.prices.dedup_by(|one, other| (&one.key, one.part) == (&other.key, other.part));
    let left_out = book.prices.len().saturating_sub(MAX_PRICES);
    book.prices.truncate(MAX_PRICES);
    book.left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
    let before = newest.as_ref().map_or(&[][..], |newest| &newest.prices);
    book.changed = u64::try_from(price_changes(before, &book.prices).len()).unwrap_or(u64::MAX);
    book.number = newest.map_or(1, |newest| newest.number.saturating_add(1));
    cut(&mut book.who);
    cut(&mut book.cause);
    storage.put_price_book(&book, (book.number + 1).saturating_sub(MAX_PRICE_BOOKS))?;
    Ok(Applied::Done)
}

fn keep_deployment<B: LedgerStorage>(storage: &mut B, mut row: DeploymentRecord) -> Ruling<Applied, B> {
    row.number = storage.newest_deployment()?.saturating_add(1);
    row.stages.truncate(MAX_STAGES);
    row.stages.iter_mut().for_each(|stage| cut(&mut stage.note));
    [&mut row.who, &mut row.family, &mut row.version, &mut row.reason].into_iter().for_each(cut);
    storage.put_deployment(&row, (row.number + 1).saturating_sub(MAX_DEPLOYMENTS))?;
    if row.kind == DeploymentKind::Canary {
        let news = RolledBackCanary {
            family: &row.family,
            version: &row.version,
            digest: row.digest,
            rolled_back: row.replaced,
            reason: &row.reason,
        };
        operators::canary_rolled_back(storage, &news, row.at)?;
    }
    Ok(Applied::Done)
}

fn tell_of_account<B: LedgerStorage>(storage: &mut B, mut row: AccountRecord) -> Ruling<Applied, B> {
    [&mut row.provider, &mut row.account, &mut row.reason].into_iter().for_each(cut);
    let AccountRecord { provider, account, is_down, since, at, reason } = &row;
    let news = AccountNews { provider, account, since: &since.to_string(), reason };
    operators::account(storage, *is_down, &news, *at)?;
    Ok(Applied::Done)
}

fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(MAX_RECORD_TEXT));
}
