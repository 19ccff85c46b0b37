//! Reads of kept responses by their owner, and their removal.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{Key, Sse};
use gatehouse_tasks::{Applied, Command};

use crate::body::off_worker;
use crate::errors::SubmitError;
use crate::shared::Shared;
use crate::text::history::replay::events_after;

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
    /// for [`Conversations::response`].
    ///
    /// # Errors
    /// There is no event of that number, or a failed store.
    pub async fn response_events(
        &self,
        key: &Key,
        id: &str,
        after: Option<u64>,
    ) -> Result<Option<Vec<Sse>>, SubmitError> {
        let found =
            self.shared.store.response(key.customer.clone(), id.to_owned(), self.shared.now()).await?;
        let Some(record) = found else { return Ok(None) };
        let events = off_worker(record.response.len(), move || {
            let response = std::str::from_utf8(&record.response).unwrap_or_default();
            events_after(response, &record.outline, after)
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
