//! What a request goes on from, read from the store for the customer that asks.

use gatehouse_model::Json;
use gatehouse_tasks::ResponseRecord;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::body::off_worker;
use crate::errors::SubmitError;
use crate::text::api::CompletionRequest;
use crate::text::history::keep::{Item, Kept};
use crate::text::history::merge::{Wanted, inner, merge};
use crate::text::history::read::Conversations;
use crate::text::history::replay::Outline;

/// Responses one conversation may go through.
const MAX_RESPONSES: usize = 1000;

/// What of a kept response goes into a later request.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    output: Vec<&'a RawValue>,
}

impl Conversations {
    /// The body with its conversation, and what is to be kept of it.
    pub(in crate::text) async fn with_history(
        &self,
        request: &CompletionRequest,
    ) -> Result<(Json, Option<Kept>), SubmitError> {
        let (customer, now) = (&request.key.customer, self.shared.now());
        let json = request.body.json().clone();
        let of = json.clone();
        let wanted = off_worker(json.len(), move || Wanted::of(&of)).await??;
        let unknown = |id: &str| SubmitError::UnknownResponse(id.to_owned());
        let chain = match &wanted.previous {
            None => Vec::new(),
            Some(id) => {
                let chain = self
                    .shared
                    .store
                    .conversation(customer.clone(), id.to_owned(), now, MAX_RESPONSES)
                    .await?;
                chain.ok_or_else(|| unknown(id))?
            }
        };
        let mut referenced = Vec::with_capacity(wanted.references.len());
        if !wanted.references.is_empty() {
            let ids = wanted.references.clone();
            let records = self.shared.store.responses_with_items(customer.clone(), ids, now).await?;
            for (id, record) in wanted.references.iter().zip(records) {
                let item = record.and_then(|record| item(&record, id));
                referenced.push(item.ok_or_else(|| SubmitError::UnknownItem(id.clone()))?);
            }
        }
        let limit = self.shared.config.text.responses().bytes;
        let store =
            wanted.store && self.shared.config.text.responses().count > 0 && json.len() as u64 <= limit;
        let size = chain.iter().fold(json.len() as u64, |size, record| size.saturating_add(record.size()));
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let merged = off_worker(size, move || merge(&json, &items(&chain), &referenced, store)).await??;
        let kept = store.then(|| Kept {
            customer: customer.clone(),
            previous: wanted.previous,
            input: merged.input,
            outline: Outline::default(),
        });
        Ok((merged.json, kept))
    }
}

/// All items of a conversation, JSON without brackets.
fn items(chain: &[ResponseRecord]) -> String {
    let mut items: Vec<&str> = Vec::new();
    for record in chain {
        items.push(std::str::from_utf8(&record.input).map(inner).unwrap_or_default());
        let answer = serde_json::from_slice::<Answer<'_>>(&record.response);
        items.extend(answer.map(|answer| answer.output).unwrap_or_default().into_iter().map(RawValue::get));
    }
    items.retain(|item| !item.is_empty());
    items.join(",")
}

/// An item of a response's output.
fn item(record: &ResponseRecord, id: &str) -> Option<String> {
    let answer: Answer<'_> = serde_json::from_slice(&record.response).ok()?;
    let is_it = |raw: &&RawValue| serde_json::from_str::<Item>(raw.get()).is_ok_and(|item| item.id == id);
    answer.output.into_iter().find(is_it).map(|raw| raw.get().to_owned())
}
