//! The rows that a command is likely to read, so that an engine behind a network fetches them in one trip. A hint and nothing more: a
//! row that is missing here is fetched when the command comes to it, and one too many costs its share of a trip.

use gatehouse_model::{CustomerId, Key, KeyId, Task, TaskId};

use crate::commands::command::Command;
use crate::commands::expired_row::ExpiredRow;
use crate::commands::request::Idempotency;
use crate::ledger::hold::{Hold, HoldId};
use crate::records::record::OperatorRecord;
use crate::storage::row::{Kind as _, Row, RowKey, Series};
use crate::webhooks::change::WebhookChange;
use crate::webhooks::operators::operators;

impl Command {
    /// The keys of the rows that it is likely to read, as far as its own fields name them.
    #[must_use]
    pub fn likely_rows(&self) -> Vec<RowKey> {
        let mut rows = Vec::new();
        self.add_likely(&mut rows);
        rows
    }

    fn add_likely(&self, rows: &mut Vec<RowKey>) {
        match self {
            Self::AddCustomer { id, .. } | Self::EditCustomer { id, .. } => {
                rows.push(RowKey::Customer(id.clone()));
            }
            Self::AddKey { key } => {
                rows.extend([RowKey::Key(key.id.clone()), RowKey::KeyDigest(key.digest.0)]);
                rows.push(RowKey::Customer(key.customer.clone()));
            }
            Self::Administer { change, idempotency, .. } => {
                rows.push(RowKey::Newest(Series::Audit));
                rows.extend(idempotency.as_ref().map(|known| RowKey::AdminIdempotency(known.token)));
                if let Some(change) = change {
                    change.add_likely(rows);
                }
            }
            Self::Audit { .. } | Self::MarkLedger { .. } => rows.push(RowKey::Newest(Series::Audit)),
            Self::Advance { id, .. } | Self::Finish { id, .. } | Self::Reconcile { id, .. } => {
                of_task(*id, rows);
            }
            Self::Deposit { customer, .. } => of_money(customer, None, rows),
            Self::EditKey { id, .. } | Self::RevokeKey { id, .. } => rows.push(RowKey::Key(id.clone())),
            Self::Forget { customer, rows: expired, .. } => forgotten(customer.as_ref(), expired, rows),
            Self::ForgetResponse { customer, id, .. } => response(customer, id, rows),
            Self::Hold { id, key, .. } => {
                rows.extend([RowKey::Hold(HoldId::Request(*id)), RowKey::Key(key.clone())]);
                rows.push(RowKey::Newest(Series::Ledger));
            }
            Self::Join { parent, request, idempotency, .. } => {
                of_task(*parent, rows);
                rows.push(RowKey::Key(request.key.clone()));
                repetition(idempotency.as_ref(), rows);
            }
            Self::KeepRecord { record } => rows.push(match **record {
                OperatorRecord::Account(_) => RowKey::WebhooksOf(operators()),
                OperatorRecord::Deployment(_) => RowKey::Newest(Series::Deployments),
                OperatorRecord::PriceBook(_) => RowKey::Newest(Series::PriceBooks),
            }),
            Self::KeepResponse { record, .. } => response(&record.customer, &record.id, rows),
            Self::Logged { change, .. } => change.add_likely(rows),
            Self::Release { id, .. } | Self::Settle { id, .. } => {
                rows.extend([RowKey::Hold(HoldId::Request(*id)), RowKey::Newest(Series::Ledger)]);
            }
            Self::RotateKey { id, new, digest, .. } => {
                rows.extend([RowKey::Key(id.clone()), RowKey::Key(new.clone())]);
                rows.push(RowKey::KeyDigest(digest.0));
            }
            Self::Submit { task, idempotency } => {
                of_task(task.id, rows);
                of_money(&task.customer, Some(&task.key), rows);
                repetition(idempotency.as_ref(), rows);
            }
            Self::Webhook { change, .. } => webhook(change, rows),
        }
    }
}

impl Row {
    /// The keys of the rows that a command is likely to read next, now that it knows this one.
    #[must_use]
    pub fn likely_next(&self) -> Vec<RowKey> {
        let mut rows = Vec::new();
        if let Some(Task { customer, key, .. }) = Task::of(self) {
            of_money(customer, Some(key), &mut rows);
        }
        if let Some(Hold { customer, key, .. }) = Hold::of(self) {
            of_money(customer, Some(key), &mut rows);
        }
        if let Some(Key { customer, .. }) = Key::of(self) {
            of_money(customer, None, &mut rows);
        }
        rows
    }
}

fn of_task(id: TaskId, rows: &mut Vec<RowKey>) {
    rows.extend([RowKey::Task(id), RowKey::Hold(HoldId::Task(id))]);
    rows.extend([RowKey::StepCount(id.timestamp().day()), RowKey::Newest(Series::Ledger)]);
}

fn of_money(customer: &CustomerId, key: Option<&KeyId>, rows: &mut Vec<RowKey>) {
    rows.extend([RowKey::Customer(customer.clone()), RowKey::WebhooksOf(customer.clone())]);
    rows.extend(key.map(|key| RowKey::Key(key.clone())));
    rows.push(RowKey::Newest(Series::Ledger));
}

fn repetition(known: Option<&Idempotency>, rows: &mut Vec<RowKey>) {
    rows.extend(known.map(|known| RowKey::Idempotency(known.key.clone(), known.token)));
}

fn response(customer: &CustomerId, id: &str, rows: &mut Vec<RowKey>) {
    rows.push(RowKey::Response(customer.clone(), id.to_owned()));
    rows.push(RowKey::ResponseTotals(customer.clone()));
}

fn forgotten(customer: Option<&CustomerId>, expired: &[ExpiredRow], rows: &mut Vec<RowKey>) {
    rows.extend(customer.map(|id| RowKey::Customer(id.clone())));
    rows.extend(expired.iter().filter_map(|row| {
        Some(match row {
            ExpiredRow::AdminIdempotency(token) => RowKey::AdminIdempotency(*token),
            ExpiredRow::Delivery(id) => RowKey::Delivery(*id),
            ExpiredRow::Hold(id) => RowKey::Hold(HoldId::Request(*id)),
            ExpiredRow::Idempotency { key, token } => RowKey::Idempotency(key.clone(), *token),
            ExpiredRow::Response(id) => RowKey::Response(customer?.clone(), id.clone()),
        })
    }));
}

fn webhook(change: &WebhookChange, rows: &mut Vec<RowKey>) {
    match change {
        WebhookChange::Add(webhook) => {
            rows.extend([RowKey::Webhook(webhook.id), RowKey::WebhooksOf(webhook.customer.clone())]);
            rows.push(RowKey::Customer(webhook.customer.clone()));
        }
        WebhookChange::Edit { id, .. }
        | WebhookChange::Remove { id }
        | WebhookChange::ResendAll { id, .. }
        | WebhookChange::Retire { id }
        | WebhookChange::Rotate { id, .. }
        | WebhookChange::Test { id, .. } => rows.push(RowKey::Webhook(*id)),
        WebhookChange::Record { delivery, .. } | WebhookChange::Resend { delivery } => {
            rows.push(RowKey::Delivery(*delivery));
        }
    }
}
