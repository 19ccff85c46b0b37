//! A response is kept before its client reads its end: a client that goes on from it at once finds it.

use gatehouse_model::{CustomerId, Sse};
use gatehouse_store::Durability;
use gatehouse_tasks::{Command, Rejection, ResponseRecord};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::errors::SubmitError;
use crate::text::api::TextError;
use crate::text::history::read::Conversations;
use crate::text::history::replay::Outline;

/// What is to be kept of a request.
#[derive(Debug)]
pub(in crate::text) struct Kept {
    pub(super) customer: CustomerId,
    pub(super) previous: Option<String>,
    /// Its items, JSON of an array.
    pub(super) input: Vec<u8>,
    /// The events of its stream, as they leave.
    pub(in crate::text) outline: Outline,
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    output: Vec<Item>,
}

#[derive(Deserialize)]
pub(super) struct Item {
    pub(super) id: String,
}

#[derive(Deserialize)]
struct Terminal<'a> {
    #[serde(borrow)]
    response: &'a RawValue,
}

impl Conversations {
    /// Keeps the response in the events that end a stream.
    pub(in crate::text) async fn keep_last(&self, mut kept: Kept, events: &[Sse]) -> Result<(), TextError> {
        kept.outline.add(events);
        let ends = |event: &&Sse| {
            matches!(event.event.as_deref(), Some("response.completed" | "response.incomplete"))
        };
        let Some(last) = events.iter().rev().find(ends) else { return Ok(()) };
        let terminal = serde_json::from_str::<Terminal<'_>>(&last.data).map_err(unreadable)?;
        self.keep(kept, terminal.response.get().as_bytes()).await
    }

    /// Keeps a response, JSON.
    pub(in crate::text) async fn keep(&self, kept: Kept, response: &[u8]) -> Result<(), TextError> {
        let answer: Answer = serde_json::from_slice(response).map_err(unreadable)?;
        if !fits(&answer.id) || answer.output.iter().any(|item| !fits(&item.id)) {
            tracing::warn!("a plugin's response has an id that cannot be kept: it is answered and not kept");
            return Ok(());
        }
        let (now, config) = (self.shared.now(), &self.shared.config.text);
        let record = ResponseRecord {
            customer: kept.customer,
            id: answer.id,
            previous: kept.previous,
            kept: now,
            expires: now.plus(config.response_life()),
            items: answer.output.into_iter().map(|item| item.id).collect(),
            input: kept.input,
            response: response.to_vec(),
            outline: kept.outline.into_bytes(),
        };
        let command = Command::KeepResponse { record: Box::new(record), limits: config.responses() };
        match self.shared.store.execute_when_free(command, Durability::Immediate).await? {
            Ok(_) => Ok(()),
            // The answer made it larger than a customer may keep; it is paid for, and its client gets it.
            Err(Rejection::Malformed { problem, .. }) => {
                tracing::warn!(problem, "a response is too large to be kept");
                Ok(())
            }
            Err(rejection) => {
                Err(SubmitError::Internal(format!("a response was not kept: {rejection}")).into())
            }
        }
    }
}

/// Bytes of the longest id that any store can look up.
const MAX_ID: usize = 256;

/// A plugin makes the ids of a response and of its items.
fn fits(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

fn unreadable(error: serde_json::Error) -> TextError {
    SubmitError::Internal(format!("a plugin's response cannot be kept: {error}")).into()
}
