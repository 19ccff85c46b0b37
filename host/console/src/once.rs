//! Forms that are sent once: what a button makes is not made again by a second click, or by a browser that loads the answer
//! anew. Each page has a number; a form with it is taken once on each address.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use http::StatusCode;
use maud::{Markup, html};

use crate::error::PageError;

/// The field with the number of its page.
pub(crate) const FIELD: &str = "once";
/// Forms that are remembered; older ones are taken again.
const MAX_SENT: usize = 1000;

/// The session, the number of the page, and where its form was sent to.
type Sent = (u64, u64, String);

/// Which forms were sent. In memory, as sessions are.
#[derive(Default)]
pub(crate) struct Once {
    last: AtomicU64,
    sent: Mutex<VecDeque<Sent>>,
}

impl Once {
    /// A number for a page.
    pub(crate) fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes a form; one without a number is not counted.
    ///
    /// # Errors
    /// 409 for one that was sent before.
    pub(crate) fn take(&self, session: u64, number: &str, path: &str) -> Result<Option<Sent>, PageError> {
        let Ok(number) = number.parse() else { return Ok(None) };
        let form = (session, number, path.to_owned());
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.contains(&form) {
            let message = "This form was sent before, and what it asks for was done once. Open its page again to do more.";
            return Err(PageError::new(StatusCode::CONFLICT, message));
        }
        sent.push_back(form.clone());
        if sent.len() > MAX_SENT {
            sent.pop_front();
        }
        Ok(Some(form))
    }

    /// Nothing came of it, so it may be sent again.
    pub(crate) fn forget(&self, form: &Sent) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).retain(|sent| sent != form);
    }
}

/// The field of a form on that page.
pub(crate) fn field(number: u64) -> Markup {
    html! { input type="hidden" name=(FIELD) value=(number); }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a key more is made each time somebody loads the page again that shows a new one.
    #[test]
    fn a_form_is_taken_once_unless_nothing_came_of_it() {
        let once = Once::default();
        let (page, other) = (once.number().to_string(), once.number().to_string());
        let taken = once.take(1, &page, "/keys").unwrap().unwrap();
        assert_eq!(once.take(1, &page, "/keys").unwrap_err().status, StatusCode::CONFLICT);
        for (session, number, path) in [(1, &other, "/keys"), (2, &page, "/keys"), (1, &page, "/webhooks")] {
            assert!(once.take(session, number, path).unwrap().is_some());
        }
        once.forget(&taken);
        assert!(once.take(1, &page, "/keys").unwrap().is_some());
        for _ in 0..2 {
            assert!(once.take(1, "", "/keys").unwrap().is_none());
        }
    }
}
