//! What came to the receiver of webhooks, and how it answers. The system under test never sees it.

use std::collections::{BTreeMap, VecDeque};

/// One answer of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookAnswer {
    /// With that status.
    Status(u16),
    /// It took the event, and its answer never comes.
    TakeAndHang,
    /// It closes the connection.
    HangUp,
}

/// What came to the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookRecord {
    answers: VecDeque<HookAnswer>,
    /// Body by id.
    pub(crate) bodies: BTreeMap<String, String>,
    /// Ids in the order in which they came.
    pub(crate) arrivals: Vec<String>,
}

impl HookRecord {
    pub(crate) fn answering(answers: VecDeque<HookAnswer>) -> Self {
        Self { answers, ..Self::default() }
    }

    /// Keeps an event; what the answer is.
    ///
    /// # Errors
    /// The same id with another body, or another id for the same event.
    pub(crate) fn keep(&mut self, id: &str, body: &str) -> Result<HookAnswer, String> {
        let before = self.bodies.insert(id.to_owned(), body.to_owned());
        if before.is_some_and(|before| before != body) {
            return Err(format!("webhook {id} came with another body: {body}"));
        }
        if self.bodies.iter().any(|(other, known)| other != id && known == body) {
            return Err(format!("one event came under several ids: {body}"));
        }
        self.arrivals.push(id.to_owned());
        Ok(self.answers.pop_front().unwrap_or(HookAnswer::Status(200)))
    }
}
