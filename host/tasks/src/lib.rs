//! The task machine, holds, the ledger, prices, and the commands that change them.
//!
//! Owns every rule about tasks and money. [`apply()`] applies a [`Command`] to [`LedgerStorage`]: the command either
//! makes all of its changes or, when it is rejected, none. Pure and synchronous: never does I/O, never reads a clock
//! (a command carries its time), never knows how rows are stored: [`Rows`] fetches them from a [`Backend`] and hands it the changes.
//! `store` is the backend and applies the commands; `driver` decides which commands to send.

mod apply;
mod commands;
mod ledger;
mod memory_storage;
mod records;
mod rules;
mod storage;
mod task;
mod webhooks;

pub use apply::apply;
pub use commands::change::{Change, Ending, Reconciliation, ResultRecord};
pub use commands::command::{Applied, Command};
pub use commands::expired_row::{ExpiredRow, ExpiredRows};
pub use commands::owner::Owner;
pub use commands::rejection::Rejection;
pub use commands::request::{Idempotency, JoinRequest, JudgedTask};
pub use commands::webhook_change::WebhookChange;
pub use ledger::examination::{Examination, Report};
pub use ledger::key_lineage::KeyLineage;
pub use ledger::price_table::{NegativePrice, NoPrice, PriceTable, Quote, QuotedLine};
pub use ledger::statement_lines::{EntryLine, StatementCheck, StatementLine, VerifiedStatement, WrongLine};
pub use memory_storage::{MemoryLedgerStorage, Nothing};
pub use records::administration::{AdminIdempotency, AdminIdempotencyRecord, AuditedRequest, FieldChange};
pub use records::changes::{PriceChange, price_changes};
pub use records::hold::{Hold, HoldId, HoldShare};
pub use records::journal_entry::{EntryKind, JournalEntry, Movement};
pub use records::mark::LedgerMark;
pub use records::operator::{
    AccountRecord, DeploymentKind, DeploymentOutcome, DeploymentRecord, MAX_DEPLOYMENTS, MAX_PRICE_BOOKS,
    MAX_PRICES, MAX_RECORD_TEXT, OperatorRecord, PricePart, PriceRow, PriceVersion, StageRecord,
};
pub use records::quota::{PeriodShare, QuotaExceeded, QuotaOwner};
pub use records::response::{ResponseLimits, ResponseRecord, ResponseTotals};
pub use records::step::{
    ExchangeRecord, MAX_EXCERPTS_OF_A_ROW, MAX_STEP_ROWS, MAX_STEP_ROWS_OF_A_DAY, MAX_STEPS_OF_A_ROW,
    StepKind, StepRecord, StepRow,
};
pub use records::usage::{UsageKey, UsageSums, hour_of};
pub use records::webhook::{
    BY_OPERATOR, Callback, DeliveryState, Disabled, MAX_ANSWER, MAX_CUSTOMER_WEBHOOKS, MAX_DESCRIPTION,
    MAX_OWN_WEBHOOKS, MAX_PENDING, MAX_RESENT, MAX_URL, MAX_WEBHOOKS, OldSecret, SealedSecret,
    WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent, WebhookPolicy, shown_url,
};
pub use rules::funds::{MAX_VARIANT_NAME, check_funds};
pub use rules::keys::MAX_OVERLAP;
pub use storage::ledger_storage::{AuditRecord, BalancesAfter, IdempotencyRecord, LedgerStorage, NameRecord};
pub use storage::row::{Kind, List, Row, RowKey, Series};
pub use storage::rows::{Backend, Kept, RowChange, Rows};
pub use task::claims::{MAX_CLAIMS, MAX_NAME_BYTES};
pub use task::decide::{AfterCrash, after_crash, asks_after_outage, is_overdue, lost_answer, timed_out};
pub use task::join::MAX_UNDELIVERED_JOINS;
pub use task::reconcile::MAX_RULING_REASON;
pub use webhooks::operators::operators;
pub use webhooks::payload::{callback_of, delivery_of};
pub use webhooks::schedule::{KEPT as DELIVERIES_KEPT, SECRET_OVERLAP, is_old};
