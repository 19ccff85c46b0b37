//! Sending the events of a range again: which ones, and a bounded number of them at a time.

use gatehouse_model::{DeliveryId, WebhookId};
use gatehouse_store::DeliveryQuery;
use gatehouse_tasks::{DeliveryState, MAX_RESENT, WebhookDelivery};

use crate::api::error::OperationError;
use crate::api::webhook::{ResendRange, ResentRange};
use crate::service::AdminService;

/// Rows that are read at a time, and how often.
const PAGE: usize = 500;
const PAGES: usize = 8;

impl AdminService {
    /// The events of a range that are sent again now, and what is said of it. Changes nothing.
    pub(crate) async fn choose_resent(
        &self,
        id: WebhookId,
        range: &ResendRange,
    ) -> Result<(Vec<DeliveryId>, ResentRange), OperationError> {
        self.webhook_row(id)?;
        let cursor = range.cursor.as_ref().map(|text| {
            text.parse::<DeliveryId>().map_err(|_| OperationError::InvalidField {
                field: "cursor".to_owned(),
                message: format!("cursor: expected `next` of the answer before, got {text:?}"),
            })
        });
        let (mut chosen, mut position) = (Vec::new(), cursor.transpose()?);
        let query = DeliveryQuery { webhook: id, pending: false };
        let mut next = None;
        for _ in 0..PAGES {
            let page = self.deliveries_page(query, position, PAGE).await?;
            for delivery in page.rows {
                // Ids are in the order of time, newest first: nothing of the range follows.
                if range.from.is_some_and(|from| delivery.id.timestamp() < from.0) {
                    return Ok(answer(chosen, None));
                }
                if chosen.len() == MAX_RESENT {
                    return Ok(answer(chosen, next));
                }
                next = Some(delivery.id);
                if range.takes(&delivery) {
                    chosen.push(delivery.id);
                }
            }
            position = page.next;
            if position.is_none() {
                return Ok(answer(chosen, None));
            }
        }
        Ok(answer(chosen, position))
    }
}

fn answer(chosen: Vec<DeliveryId>, next: Option<DeliveryId>) -> (Vec<DeliveryId>, ResentRange) {
    let resent = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
    (chosen, ResentRange { resent, next: next.map(|id| id.to_string()) })
}

impl ResendRange {
    fn takes(&self, delivery: &WebhookDelivery) -> bool {
        let ended = match delivery.state {
            DeliveryState::Failed { .. } => true,
            DeliveryState::Delivered { .. } => self.delivered,
            DeliveryState::Pending { .. } => false,
        };
        ended && self.before.is_none_or(|before| delivery.id.timestamp() < before.0)
    }
}
