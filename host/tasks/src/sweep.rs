//! The rules of forgetting: expired idempotency keys, expired holds of requests, old history.

use gatehouse_model::UnixMs;

use crate::apply::{Ruling, Stop};
use crate::funds::resolution;
use crate::{Answer, LedgerStorage};

pub(crate) fn repetitions<B: LedgerStorage>(books: &mut B, now: UnixMs, limit: usize) -> Ruling<Answer, B> {
    let expired = books.expired_repetitions(now, limit)?;
    for repetition in &expired {
        books.remove_repetition(repetition)?;
    }
    Ok(Answer::Swept { removed: expired.len(), more: !expired.is_empty() && expired.len() == limit })
}

pub(crate) fn holds<B: LedgerStorage>(books: &mut B, now: UnixMs, limit: usize) -> Ruling<Answer, B> {
    let expired = books.expired_holds(now, limit)?;
    let mut removed = 0;
    for hold in &expired {
        match resolution(books, hold, None, String::new(), now) {
            Ok(posting) => posting.write(books)?,
            // Only damaged books refuse a release (its account or key is gone). Money is not moved on a guess:
            // the hold stays for the doctor to find, and the others are released.
            Err(Stop::Rejected(_)) => continue,
            Err(broken) => return Err(broken),
        }
        books.remove_hold(hold)?;
        removed += 1;
    }
    Ok(Answer::Swept { removed, more: removed > 0 && expired.len() == limit })
}

pub(crate) fn drop_history<B: LedgerStorage>(books: &mut B, before_day: u32) -> Ruling<Answer, B> {
    // A live task is listed in the day of its birth and will end there, so that day is still needed.
    let needed = books.oldest_live()?.map_or(u32::MAX, |task| task.born().day());
    Ok(Answer::Dropped(books.drop_history(before_day.min(needed))?))
}
