//! Commands meet the books. This file only sends each command to its rule.
//!
//! Every rule first reads and checks, then writes; past its first write nothing can be rejected any more.
//! That is what lets a keeper apply many commands in one transaction without undoing single ones.

use crate::{Answer, Command, LedgerStorage, Rejection, advance, funds, submit, sweep};

/// Why a rule stopped.
pub(crate) enum Stop<E> {
    /// Nothing was changed.
    Rejected(Rejection),
    /// The books cannot be read or written.
    Broken(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Broken(error)
    }
}

/// What a rule decides.
pub(crate) type Ruling<T, B> = Result<T, Stop<<B as LedgerStorage>::Error>>;

/// Applies one command.
///
/// The inner result is the command's own: a [`Rejection`] means that nothing was changed.
///
/// # Errors
/// What the books report; they may then be half changed and must be thrown away.
pub fn apply<B: LedgerStorage>(
    books: &mut B,
    command: Command,
) -> Result<Result<Answer, Rejection>, B::Error> {
    match rule(books, command) {
        Ok(answer) => Ok(Ok(answer)),
        Err(Stop::Rejected(rejection)) => Ok(Err(rejection)),
        Err(Stop::Broken(error)) => Err(error),
    }
}

fn rule<B: LedgerStorage>(books: &mut B, command: Command) -> Ruling<Answer, B> {
    match command {
        Command::AddKey { key } => funds::add_key(books, *key),
        Command::Advance { id, revision, change, at } => advance::advance(books, id, revision, *change, at),
        Command::Audit { task, text, at } => advance::audit(books, task, text, at),
        Command::Deposit { account, amount, memo, at } => funds::deposit(books, &account, amount, memo, at),
        Command::DropHistory { before_day } => sweep::drop_history(books, before_day),
        Command::Finish { id, revision, ending, audit, at } => {
            advance::finish(books, id, revision, ending, audit, at)
        }
        Command::Hold { id, key, amount, unit_price, expires, at } => {
            funds::hold(books, id, key, amount, unit_price, (at, expires))
        }
        Command::OpenAccount { id, at } => funds::open_account(books, id, at),
        Command::Release { id, at } => funds::resolve(books, id, None, String::new(), at),
        Command::RevokeKey { id, at } => funds::revoke_key(books, id, at),
        Command::Settle { id, amount, memo, at } => funds::resolve(books, id, Some(amount), memo, at),
        Command::Submit { task, idempotency } => submit::submit(books, &task, idempotency),
        Command::Sweep { now, limit } => sweep::repetitions(books, now, limit),
        Command::SweepHolds { now, limit } => sweep::holds(books, now, limit),
    }
}
