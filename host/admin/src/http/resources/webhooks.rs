//! `/webhooks` and `/deliveries`: who is told of the ends of a customer's tasks, and what became of it. A secret is in the
//! answer that makes it and nowhere else.

use gatehouse_model::{CustomerId, DeliveryId, WebhookId};
use gatehouse_store::DeliveryQuery;
use gatehouse_tasks::{
    Applied, BY_OPERATOR as DISABLED_BY_OPERATOR, Command, FieldChange, SECRET_OVERLAP, WebhookChange,
    WebhookDelivery, WebhookEndpoint, WebhookPolicy, shown_url,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::values::List;
use crate::api::webhook::{DeliveryView, NewWebhook, ResendRange, ResentRange, WebhookView};
use crate::audit::told;
use crate::error::ApiError;
use crate::http::call::{Call, Committed, Outcome};
use crate::http::request::body::{changes, created, from_value, patched};
use crate::http::request::precondition::{Edited, check_edited};
use crate::http::request::query::{Form, Parameter, filter};
use crate::http::route::Route;
use crate::reply::Reply;

const FILTERS: [Parameter; 1] = [filter("customer", Form::Text, "Only webhooks of this customer.")];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/webhooks", "listWebhooks", list)
            .says("Lists webhooks by id.")
            .query(&FILTERS)
            .paged()
            .returns::<List<WebhookView>>(),
        Route::post("/webhooks", "createWebhook", create)
            .says("Makes a webhook; its secret is shown this one time.")
            .body::<NewWebhook>()
            .creates::<NewWebhookSecret>()
            .idempotent(),
        Route::get("/webhooks/{webhook}", "getWebhook", show)
            .says("Shows one webhook, never its secret.")
            .returns::<WebhookView>()
            .tagged(),
        Route::patch("/webhooks/{webhook}", "editWebhook", edit)
            .says("Changes a webhook, enables or disables it.")
            .patches::<WebhookPolicy>()
            .returns::<WebhookView>()
            .tagged(),
        Route::delete("/webhooks/{webhook}", "removeWebhook", remove)
            .says("Forgets a webhook with what waits for it.")
            .returns_nothing(),
        Route::post("/webhooks/{webhook}/rotate-secret", "rotateWebhookSecret", rotate)
            .says("Makes another secret; the one before signs too for 24 hours.")
            .creates::<NewWebhookSecret>()
            .idempotent(),
        Route::post("/webhooks/{webhook}/retire-secret", "retireWebhookSecret", retire)
            .says("Ends the secret before the last rotation at once.")
            .returns::<WebhookView>(),
        Route::post("/webhooks/{webhook}/test", "testWebhook", test)
            .says("Sends an event that only tries it out.")
            .creates::<DeliveryView>(),
        Route::get("/webhooks/{webhook}/deliveries", "listDeliveries", list_deliveries)
            .says("Lists the deliveries of the last seven days, newest first.")
            .query(&DELIVERY_FILTERS)
            .paged()
            .returns::<List<DeliveryView>>(),
        Route::post("/webhooks/{webhook}/resend", "resendDeliveries", resend_range)
            .says("Sends the events of a range again, newest first; at most 500 in one request.")
            .body::<ResendRange>()
            .returns::<ResentRange>(),
        Route::get("/deliveries/{delivery}", "getDelivery", show_delivery)
            .says("Shows one delivery with its attempts.")
            .returns::<DeliveryView>(),
        Route::post("/deliveries/{delivery}/resend", "resendDelivery", resend)
            .says("Sends an event again under its id, or now instead of later.")
            .returns::<DeliveryView>(),
    ]
}

/// A webhook with its new secret.
#[derive(Debug, Serialize, JsonSchema)]
struct NewWebhookSecret {
    /// The webhook.
    webhook: WebhookView,
    /// The secret, for the receiver. Null in the answer to a repetition: it is shown once.
    secret: Option<String>,
    /// Whether the secret is in this answer.
    secret_shown: bool,
}

impl Edited for WebhookView {
    fn revision(&self) -> u64 {
        self.revision
    }
}

async fn list(call: Call) -> Outcome {
    let customer = call.query.one("customer").map(CustomerId::from);
    let page = call.service.store.list_webhooks(customer, call.position()?, call.query.limit()).await?;
    call.list(page.rows.iter().map(WebhookView::from).collect(), page.next)
}

async fn show(call: Call) -> Outcome {
    let webhook = WebhookView::from(&find(&call).await?);
    call.object(&webhook, &webhook.etag())
}

async fn create(call: Call) -> Outcome {
    let (webhook, secret) = call.service.webhooks.mint(call.json()?)?;
    let view = WebhookView::from(&webhook);
    let (id, audited) = (webhook.id, created(&on_record(view)));
    let committed = commit(&call, WebhookChange::Add(Box::new(webhook)), id, 201, audited).await?;
    shown_once(&call, id, committed, secret.0).await
}

async fn edit(call: Call) -> Outcome {
    let row = find(&call).await?;
    let before = WebhookView::from(&row);
    check_edited(&call.headers, &before)?;
    let policy = row.policy();
    let patch: Value = call.json()?;
    // Not where another field is edited: what its customer has switched off is then still the customer's to switch on.
    let by_word = patch.get("enabled") == Some(&Value::Bool(false));
    let after: WebhookPolicy = from_value(patched(&policy, patch)?)?;
    call.service.webhooks.check_url(&after.url)?;
    let on_record = |policy: &WebhookPolicy| WebhookPolicy { url: shown_url(&policy.url), ..policy.clone() };
    let mut audited = changes(&on_record(&policy), &on_record(&after));
    let address = json!(shown_url(&after.url));
    if policy.url != after.url && !audited.iter().any(|change| change.field == "url") {
        audited.push(FieldChange { before: Some(address.to_string()), ..told("url", address) });
    }
    if let Some(disabled) = row.disabled.as_ref().filter(|_| by_word && !row.is_disabled_by_operator()) {
        let before = Some(json!(disabled.reason).to_string());
        audited.push(FieldChange { before, ..told("disabled_reason", DISABLED_BY_OPERATOR) });
    }
    let (id, revision, policy) = (row.id, row.revision, after);
    let change = Box::new(WebhookChange::Edit { id, revision, policy, by_customer: false, by_word });
    let (command, made) = (Command::Webhook { change, at: call.at }, id.to_string());
    let read = read_webhook(&call, id);
    call.commit_edit(command, format!("webhooks/{made}"), &made, audited, left_webhook, read).await
}

async fn remove(call: Call) -> Outcome {
    let row = find(&call).await?;
    let audited = changes(&on_record(WebhookView::from(&row)), &serde_json::Map::new());
    commit(&call, WebhookChange::Remove { id: row.id }, row.id, 204, audited).await?;
    Ok(Reply::empty())
}

async fn rotate(call: Call) -> Outcome {
    let id = find(&call).await?.id;
    let (secret, revealed) = call.service.webhooks.mint_secret(id);
    let until = call.at.plus(SECRET_OVERLAP);
    let audited = vec![told("old_secret_until", until.to_string())];
    let committed = commit(&call, WebhookChange::Rotate { id, secret }, id, 201, audited).await?;
    shown_once(&call, id, committed, revealed.0).await
}

async fn retire(call: Call) -> Outcome {
    let id = find(&call).await?.id;
    let audited = vec![told("old_secret_until", call.at.to_string())];
    let committed = commit(&call, WebhookChange::Retire { id }, id, 200, audited).await?;
    Ok(Reply::json(&committed.shown(left_webhook, read_webhook(&call, id)).await?))
}

async fn test(call: Call) -> Outcome {
    let id = find(&call).await?.id;
    let delivery = DeliveryId::new(call.at, call.service.seed.as_ref());
    let audited = vec![told("delivery", delivery.to_string())];
    let committed = commit(&call, WebhookChange::Test { id, delivery }, id, 201, audited).await?;
    Ok(Reply::created(&committed.shown(left_delivery, read_delivery(&call, delivery)).await?))
}

/// The webhook that a change has left.
fn left_webhook(left: Applied) -> Option<WebhookView> {
    match left {
        Applied::Webhook(row) => Some(WebhookView::from(&*row)),
        _ => None,
    }
}

/// The delivery that a change has left.
fn left_delivery(left: Applied) -> Option<DeliveryView> {
    match left {
        Applied::Delivery(row) => Some(DeliveryView::from(&*row)),
        _ => None,
    }
}

/// A webhook as the audit record keeps it: its address may have a secret of its owner in its query.
fn on_record(webhook: WebhookView) -> WebhookView {
    WebhookView { url: shown_url(&webhook.url), ..webhook }
}

/// The answer with a secret, which a repetition of the request does not get again.
async fn shown_once(call: &Call, id: WebhookId, committed: Committed, secret: String) -> Outcome {
    let (id, secret) = match &committed.before {
        Some(first) => (first.parse().unwrap_or(id), None),
        None => (id, Some(secret)),
    };
    let webhook = committed.shown(left_webhook, read_webhook(call, id)).await?;
    let secret_shown = secret.is_some();
    Ok(Reply::created(&NewWebhookSecret { webhook, secret, secret_shown }))
}

async fn commit(
    call: &Call,
    change: WebhookChange,
    id: WebhookId,
    status: u16,
    audited: Vec<FieldChange>,
) -> Result<Committed, ApiError> {
    let id = id.to_string();
    let command = Command::Webhook { change: Box::new(change), at: call.at };
    call.commit(command, format!("webhooks/{id}"), &id, status, audited).await
}

async fn read_webhook(call: &Call, id: WebhookId) -> Result<WebhookView, ApiError> {
    Ok(WebhookView::from(&call.service.webhooks.row(id).await?))
}

async fn read_delivery(call: &Call, id: DeliveryId) -> Result<DeliveryView, ApiError> {
    Ok(DeliveryView::from(&call.service.webhooks.delivery(id).await?))
}

async fn find(call: &Call) -> Result<WebhookEndpoint, ApiError> {
    Ok(call.service.webhooks.row(call.id("webhook", "webhook")?).await?)
}

const DELIVERY_FILTERS: [Parameter; 1] = [filter("pending", Form::Flag, "Only deliveries that wait.")];

async fn list_deliveries(call: Call) -> Outcome {
    let webhook: WebhookId = call.id("webhook", "webhook")?;
    call.service.webhooks.row(webhook).await?;
    let query = DeliveryQuery { webhook, pending: call.query.flag("pending") };
    let page = call.service.store.list_deliveries(query, call.position()?, call.query.limit()).await?;
    call.list(page.rows.iter().map(DeliveryView::from).collect(), page.next)
}

async fn resend_range(call: Call) -> Outcome {
    let webhook: WebhookId = call.id("webhook", "webhook")?;
    let (chosen, answer) = call.service.webhooks.choose_resent(webhook, &call.json()?).await?;
    let count = told("deliveries", chosen.len());
    let change = WebhookChange::ResendAll { id: webhook, deliveries: chosen };
    commit(&call, change, webhook, 200, vec![count]).await?;
    Ok(Reply::json(&answer))
}

async fn show_delivery(call: Call) -> Outcome {
    Ok(Reply::json(&DeliveryView::from(&find_delivery(&call).await?)))
}

async fn resend(call: Call) -> Outcome {
    let id = find_delivery(&call).await?.id;
    let change = WebhookChange::Resend { delivery: id };
    let command = Command::Webhook { change: Box::new(change), at: call.at };
    let made = id.to_string();
    let committed = call.commit(command, format!("deliveries/{made}"), &made, 200, Vec::new()).await?;
    Ok(Reply::json(&committed.shown(left_delivery, read_delivery(&call, id)).await?))
}

async fn find_delivery(call: &Call) -> Result<WebhookDelivery, ApiError> {
    Ok(call.service.webhooks.delivery(call.id("delivery", "delivery")?).await?)
}
