//! What is true: the task machine, holds, the ledger, prices, and the commands that change them.
//!
//! Owns every rule about tasks and money. A [`Command`] is applied to [`LedgerStorage`] by [`apply()`]; it either
//! changes everything it means to or, when it is rejected, nothing at all. Pure and synchronous: never does
//! I/O, never reads a clock (moments come in with the commands), never knows how rows are kept.
//! `store` keeps the books and feeds them commands; `driver` decides which commands to send.

mod advance;
mod apply;
mod books;
mod command;
mod decide;
mod doctor;
mod funds;
mod hold;
mod ledger;
mod memory;
mod posting;
mod price;
mod rejection;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod submit;
mod sweep;

pub use apply::apply;
pub use books::{LedgerStorage, Note, Repetition};
pub use command::{Answer, Change, Command, Ending, Idempotency};
pub use decide::{AfterCrash, after_crash, is_overdue, lost_answer, timed_out};
pub use doctor::{Examination, Report};
pub use hold::{Hold, HoldId};
pub use ledger::{Entry, Head, Kind, Movement};
pub use memory::MemoryLedgerStorage;
pub use price::{NegativePrice, NoPrice, PriceBook, Quote};
pub use rejection::Rejection;

#[cfg(test)]
mod tests;
