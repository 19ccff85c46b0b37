//! Reads of kept responses by their owner, and their removal.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{Key, Sse};
use gatehouse_tasks::{Applied, Command};

use crate::body::off_worker;
use crate::errors::SubmitError;
use crate::memory::RequestMemory;
use crate::shared::Shared;
use crate::text::history::replay::events_after;

/// What the events of a stream take beside their texts, for each byte of its outline, as if so many bytes had come in a body. An event
/// of some 150 bytes has three or four bytes of outline, and is in memory twice.
const OF_EVENTS: usize = 40;

/// A kept response.
#[derive(Debug)]
pub struct KeptResponse {
    /// As the client read it, JSON.
    pub response: Bytes,
    /// The items of its request, JSON of an array.
    pub input: Bytes,
}

/// Kept responses: put into requests, kept, read and forgotten.
pub struct Conversations {
    pub(crate) shared: Arc<Shared>,
}

impl Conversations {
    /// The caller's kept response of that id; another's is as unknown as one that never was.
    ///
    /// # Errors
    /// A failed store.
    pub async fn response(&self, key: &Key, id: &str) -> Result<Option<KeptResponse>, SubmitError> {
        let found =
            self.shared.store.response(key.customer.clone(), id.to_owned(), self.shared.now()).await?;
        Ok(found.map(|record| KeptResponse { response: record.response.into(), input: record.input.into() }))
    }

    /// The stream of the caller's kept response once more: all its events, or those after the one of that number. `None` as
    /// for [`Conversations::response`]. They count in `memory`.
    ///
    /// # Errors
    /// There is no event of that number, no memory for them, or a failed store.
    pub async fn response_events(
        &self,
        key: &Key,
        id: &str,
        after: Option<u64>,
        memory: Arc<dyn RequestMemory>,
    ) -> Result<Option<Vec<Sse>>, SubmitError> {
        let found =
            self.shared.store.response(key.customer.clone(), id.to_owned(), self.shared.now()).await?;
        // The request of the response, which may be much larger, is let go here.
        let Some((response, outline)) = found.map(|record| (record.response, record.outline)) else {
            return Ok(None);
        };
        memory.bring(of_stream(response.len(), outline.len()))?;
        let events = off_worker(response.len(), move || {
            let response = std::str::from_utf8(&response).unwrap_or_default();
            let events = events_after(response, &outline, after);
            // The client may have left meanwhile: this counts as long as it goes on.
            drop(memory);
            events
        });
        events.await?.map(Some)
    }

    /// Forgets the caller's kept response; whether there was one.
    ///
    /// # Errors
    /// A failed store.
    pub async fn forget_response(&self, key: &Key, id: &str) -> Result<bool, SubmitError> {
        let (customer, at) = (key.customer.clone(), self.shared.now());
        let command = Command::ForgetResponse { customer, id: id.to_owned(), at };
        match self.shared.store.execute(command).await? {
            Ok(Applied::Forgotten(responses)) => Ok(responses > 0),
            other => Err(SubmitError::Internal(format!("a response could not be forgotten: {other:?}"))),
        }
    }
}

/// What the stream of a response takes, as if so many bytes had come in a body.
fn of_stream(response: usize, outline: usize) -> usize {
    // Its events tell a text five times, and are written once more to be sent. A stream may have an event for every few letters, and
    // the rest of an event is far longer.
    response.saturating_mul(2).saturating_add(outline.saturating_mul(OF_EVENTS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a byte counts as in the budget of the edge.
    const WORKED_ON: usize = 4;
    const DELTAS: usize = 1_000;

    /// Without it a response of some hundred kilobytes takes many times the memory that it counts as.
    #[test]
    fn a_stream_of_short_events_counts_as_what_they_take() {
        for letters in [1_u8, 4, 20] {
            let text = "x".repeat(DELTAS * usize::from(letters));
            let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
            let id = format!("msg_{}", "0".repeat(40));
            let item = json!({"id": id, "type": "message", "role": "assistant", "content": [part]});
            let response = json!({"id": "resp_1", "status": "completed", "output": [item]}).to_string();
            // The beginning of the response, of its item and of its part; the deltas; the ends.
            let deltas = [6, 0, letters, 0].repeat(DELTAS);
            let outline = [&[0, 1, 2, 0, 4, 0][..], &deltas, &[7, 0, 5, 0, 3, 0, 18]].concat();
            let events = events_after(&response, &outline, None).unwrap();
            assert_eq!(events.len(), DELTAS + 8);
            let taken = |event: &Sse| {
                let written = event.data.len() + event.event.as_ref().map_or(0, String::len);
                size_of::<Sse>() + 2 * written
            };
            let taken: usize = events.iter().map(taken).sum();
            let counted = of_stream(response.len(), outline.len()) * WORKED_ON;
            assert!((taken..2 * taken).contains(&counted), "{letters}: {counted} for {taken}");
        }
    }
}
