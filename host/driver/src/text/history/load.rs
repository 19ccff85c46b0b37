//! What a request goes on from, read from the store for the customer that asks.

use gatehouse_model::Json;
use gatehouse_tasks::ResponseRecord;
use serde_json::value::RawValue;

use crate::body::off_worker;
use crate::errors::SubmitError;
use crate::text::api::CompletionRequest;
use crate::text::history::keep::Kept;
use crate::text::history::merge::{Wanted, inner, merge};
use crate::text::history::outputs::{distinct, named, output};
use crate::text::history::read::Conversations;
use crate::text::history::replay::Outline;

/// Responses one conversation may go through.
const MAX_RESPONSES: usize = 1000;

impl Conversations {
    /// The body with its conversation, and what is to be kept of it. What is read counts in the request's memory before anything
    /// is made of it; few reads go on at a time.
    pub(in crate::text) async fn with_history(
        &self,
        request: &CompletionRequest,
    ) -> Result<(Json, Option<Kept>), SubmitError> {
        let (customer, now) = (&request.key.customer, self.shared.now());
        let json = request.body.json().clone();
        let of = json.clone();
        let Wanted { previous, store, references } =
            off_worker(json.len(), move || Wanted::of(&of)).await??;
        let unknown = |id: &str| SubmitError::UnknownResponse(id.to_owned());
        let chain = match &previous {
            None => Vec::new(),
            Some(id) => {
                let chain = self
                    .shared
                    .store
                    .conversation(customer.clone(), id.to_owned(), now, MAX_RESPONSES)
                    .await?;
                let mut chain = chain.ok_or_else(|| unknown(id))?;
                // The outlines of their streams do not go into a request.
                for record in &mut chain {
                    record.outline = Vec::new();
                }
                chain
            }
        };
        let of_chain = size(&chain);
        request.body.bring(of_chain)?;
        let found = match references.is_empty() {
            true => Vec::new(),
            false => {
                let ids = references.clone();
                self.shared.store.responses_with_items(customer.clone(), ids, now).await?
            }
        };
        let of_found = size(distinct(&found));
        request.body.bring(of_found)?;
        let limit = self.shared.config.text.responses().bytes;
        let store = store && self.shared.config.text.responses().count > 0 && json.len() as u64 <= limit;
        let bytes = (json.len() as u64).saturating_add(of_chain).saturating_add(of_found);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let merged = off_worker(bytes, move || {
            let earlier = named(&references, &found)?;
            let history = items(&chain);
            drop(chain);
            merge(&json, &history, &earlier, store)
        });
        let merged = merged.await??;
        let kept = store.then(|| Kept {
            customer: customer.clone(),
            previous,
            input: merged.input,
            outline: Outline::default(),
        });
        Ok((merged.json, kept))
    }
}

/// Bytes of all these responses.
fn size<'a>(records: impl IntoIterator<Item = &'a ResponseRecord>) -> u64 {
    records.into_iter().map(ResponseRecord::size).fold(0, u64::saturating_add)
}

/// All items of a conversation, JSON without brackets.
fn items(chain: &[ResponseRecord]) -> String {
    let mut items: Vec<&str> = Vec::new();
    for record in chain {
        items.push(std::str::from_utf8(&record.input).map(inner).unwrap_or_default());
        items.extend(output(record).into_iter().map(RawValue::get));
    }
    items.retain(|item| !item.is_empty());
    items.join(",")
}
