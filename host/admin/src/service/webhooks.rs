//! Webhooks: made, listed, with new secrets; their deliveries read and chosen to be sent again. The API sends what changes.
//! Owns the making of secrets; asks the store, and the running gateway what it would send to.

use gatehouse_driver::{WebhookSecret, check_post_url};
use gatehouse_model::{CustomerId, DeliveryId, Pepper, WebhookId};
use gatehouse_store::DeliveryQuery;
use gatehouse_tasks::{
    DeliveryState, MAX_RESENT, SealedSecret, WebhookDelivery, WebhookEndpoint, WebhookPolicy, operators,
};

use super::commands::Commands;
use crate::api::error::OperationError;
use crate::api::values::Revealed;
use crate::api::webhook::{NewWebhook, ResendRange, ResentRange};

/// Rows that are read at a time, and how often.
const PAGE: usize = 500;
const PAGES: usize = 8;

/// Webhooks and their deliveries.
pub struct Webhooks {
    pub(super) commands: Commands,
    pub(super) pepper: Pepper,
}

impl Webhooks {
    /// One webhook.
    pub(crate) async fn row(&self, id: WebhookId) -> Result<WebhookEndpoint, OperationError> {
        let found = self.commands.store.webhook(id).await?;
        found.ok_or_else(|| OperationError::NotFound(format!("no webhook {id}")))
    }

    /// One delivery.
    pub(crate) async fn delivery(&self, id: DeliveryId) -> Result<WebhookDelivery, OperationError> {
        let found = self.commands.store.delivery(id).await?;
        found.ok_or_else(|| OperationError::NotFound(format!("no delivery {id}")))
    }

    /// A new webhook and its secret, which are not in the store yet.
    pub(crate) fn mint(&self, new: NewWebhook) -> Result<(WebhookEndpoint, Revealed), OperationError> {
        let NewWebhook { customer, url, events, description } = new;
        self.check_url(&url)?;
        let id = WebhookId::new(self.commands.clock.now(), self.commands.seed.as_ref());
        let (secret, revealed) = self.mint_secret(id);
        let policy = WebhookPolicy { url, events, description, enabled: true };
        let owner = customer.map_or_else(operators, CustomerId);
        let webhook = WebhookEndpoint::new(id, owner, policy, secret, None);
        Ok((webhook, revealed))
    }

    /// A secret that the webhook does not have yet.
    pub(crate) fn mint_secret(&self, id: WebhookId) -> (SealedSecret, Revealed) {
        let secret = WebhookSecret::mint(self.commands.seed.as_ref());
        let sealed = secret.seal(&self.pepper, id, self.commands.clock.now(), self.commands.seed.as_ref());
        (sealed, Revealed(secret.reveal()))
    }

    /// Without a gateway only the form is checked; what a running one would not send to fails there, and shows.
    pub(crate) fn check_url(&self, url: &str) -> Result<(), OperationError> {
        let checked = match self.commands.gateway.driver() {
            Some(driver) => driver.check_webhook_url(url),
            None => check_post_url(url, true).map_err(|error| error.to_string()),
        };
        checked.map_err(|problem| OperationError::Invalid(format!("url: {problem}")))
    }

    /// The events of a range that are sent again now, and what is said of it. Changes nothing.
    pub(crate) async fn choose_resent(
        &self,
        id: WebhookId,
        range: &ResendRange,
    ) -> Result<(Vec<DeliveryId>, ResentRange), OperationError> {
        self.row(id).await?;
        let cursor = range.cursor.as_ref().map(|text| {
            text.parse::<DeliveryId>().map_err(|_| {
                OperationError::Invalid(format!("cursor: expected `next` of the answer before, got {text:?}"))
            })
        });
        let (mut chosen, mut position) = (Vec::new(), cursor.transpose()?);
        let query = DeliveryQuery { webhook: id, pending: false };
        let mut next = None;
        for _ in 0..PAGES {
            let page = self.commands.store.list_deliveries(query, position, PAGE).await?;
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
