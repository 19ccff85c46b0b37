//! `/v1/webhooks`: where a customer has the ends of its tasks posted to, made with its own key; and the secret of callbacks.
//! A webhook's secret is in the answer that makes it and nowhere else.

use std::sync::Arc;

use gatehouse_driver::{
    ChangedWebhook, DeliveryState, SubmitError, TaskCallback, WebhookAction, WebhookAttempt, WebhookDelivery,
    WebhookEndpoint, WebhookError, WebhookEvent, WebhookPatch, WebhookPolicy, WebhookRequest,
};
use gatehouse_model::{DeliveryId, Digest, Key, TaskId, UnixMs, WebhookId, view};
use http::Response;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::backend::store_refusal;
use crate::endpoints::jobs::{self, wrong_field};
use crate::endpoints::tasks;
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::body;
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::{Query, quoted};
use crate::response::{self, ResponseBody};

const FIELDS: [&str; 4] = ["url", "events", "description", "enabled"];

view! {
    /// A webhook. Moments in Unix seconds.
    #[derive(Serialize)]
    struct WebhookView of (webhook: &WebhookEndpoint) where {
        let seconds = |moment: Option<UnixMs>| moment.map(UnixMs::seconds);
    } {
        id: WebhookId = webhook.id,
        url: String = webhook.url.clone(),
        events: Vec<&'static str> = webhook.events.iter().map(|event| event.as_str()).collect(),
        description: String = webhook.description.clone(),
        enabled: bool = webhook.disabled.is_none(),
        disabled_at: Option<u64> = seconds(webhook.disabled.as_ref().map(|disabled| disabled.at)),
        disabled_reason: Option<String> = webhook.disabled.as_ref().map(|disabled| disabled.reason.clone()),
        created: u64 = webhook.created.seconds(),
        secret_created: u64 = webhook.secret.created.seconds(),
        old_secret_until: Option<u64> = seconds(webhook.old_secret.as_ref().map(|old| old.until)),
        pending: u32 = webhook.pending,
        failing_since: Option<u64> = seconds(webhook.failing_since),
        last_success: Option<u64> = seconds(webhook.last_success),
        last_attempt: Option<AttemptView> = webhook.last_attempt.as_ref().map(AttemptView::from),
        /// Shown once.
        #[serde(skip_serializing_if = "Option::is_none")]
        secret: Option<String> = None,
    }
}

view! {
    #[derive(Serialize)]
    struct AttemptView of (attempt: &WebhookAttempt) {
        at: u64 = attempt.at.seconds(),
        took_ms: u64 = attempt.took_ms,
        status: Option<u16> = attempt.status,
        /// Empty for a success. What the receiver wrote is not told.
        problem: String = if attempt.succeeded() { String::new() } else { attempt.problem() },
    }
}

view! {
    #[derive(Serialize)]
    struct DeliveryView of (row: &WebhookDelivery) where {
        let (status, reason) = match &row.state {
            DeliveryState::Pending { .. } => ("pending", None),
            DeliveryState::Delivered { .. } => ("delivered", None),
            DeliveryState::Failed { reason, .. } => ("failed", Some(reason.clone())),
        };
    } {
        id: DeliveryId = row.id,
        event: &'static str = row.event.as_str(),
        task: Option<TaskId> = row.task,
        created: u64 = row.created.seconds(),
        status: &'static str = status,
        due: Option<u64> = row.due().map(UnixMs::seconds),
        reason: Option<String> = reason,
        attempts: Vec<AttemptView> = row.attempts.iter().map(AttemptView::from).collect(),
    }
}

/// The callback of a task.
#[derive(Serialize)]
struct CallbackView {
    task: TaskId,
    url: String,
    /// As of a delivery; `waiting` before the task's end, `forgotten` when deliveries of that time are kept no more.
    status: &'static str,
    delivery: Option<DeliveryView>,
}

/// Makes a webhook.
pub(super) async fn create(mut request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let (patch, fingerprint) = patch(&mut request, &key).await?;
    let url = patch.url.ok_or_else(|| Refusal::field("url", "url: expected an address, nothing came"))?;
    let policy = WebhookPolicy {
        url,
        events: patch.events.unwrap_or_default(),
        description: patch.description.unwrap_or_default(),
        enabled: patch.enabled.unwrap_or(true),
    };
    change(&request, key, WebhookAction::Create(policy), fingerprint).await
}

/// Changes the fields of a webhook that the request has.
pub(super) async fn edit(mut request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let id = parse_id(request.param)?;
    let (patch, fingerprint) = patch(&mut request, &key).await?;
    change(&request, key, WebhookAction::Edit(id, patch), fingerprint).await
}

/// Does what needs no body.
pub(super) async fn act(
    request: EndpointRequest<'_>,
    key: Arc<Key>,
    action: fn(WebhookId) -> WebhookAction,
) -> Outcome {
    let id = parse_id(request.param)?;
    change(&request, key, action(id), Digest::default()).await
}

/// The webhooks that the customer's keys made.
pub(super) async fn list(context: &EdgeContext, key: &Key) -> Outcome {
    let found = context.backend.own_webhooks(key).await.map_err(store_refusal)?;
    let data: Vec<WebhookView> = found.iter().map(WebhookView::from).collect();
    Ok(response::wrapped(data))
}

/// One of them.
pub(super) async fn read(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let found =
        request.context.backend.own_webhook(key, parse_id(request.param)?).await.map_err(store_refusal)?;
    let webhook = found.ok_or_else(|| unknown(request.param))?;
    Ok(response::wrapped(WebhookView::from(&webhook)))
}

/// What was sent to it, newest first.
pub(super) async fn deliveries(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let query = Query::parse(request.parts.uri.query());
    let limit = query.page_limit()?;
    let after: Option<DeliveryId> = query.parsed("after", "the id of a delivery")?;
    let found = request.context.backend.own_deliveries(key, parse_id(request.param)?, after, limit).await;
    let (rows, has_more) = found.map_err(store_refusal)?.ok_or_else(|| unknown(request.param))?;
    let data: Vec<DeliveryView> = rows.iter().map(DeliveryView::from).collect();
    let (first_id, last_id) = (data.first().map(|row| row.id), data.last().map(|row| row.id));
    let page =
        json!({"code": 200, "data": data, "has_more": has_more, "first_id": first_id, "last_id": last_id});
    Ok(response::json(&page))
}

/// What became of the callback of a task.
pub(super) async fn callback(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let task = tasks::owned(request, key).await?;
    let found = request.context.backend.own_callback(&task).await.map_err(store_refusal)?;
    let TaskCallback { url, delivery: sent, is_over } = found.ok_or_else(|| {
        Refusal::new(Kind::NotFound, format!("task {} was submitted without a callback_url", task.id))
    })?;
    let sent = sent.as_ref().map(DeliveryView::from);
    let status = match &sent {
        Some(sent) => sent.status,
        None if is_over => "forgotten",
        None => "waiting",
    };
    let data = CallbackView { task: task.id, url, status, delivery: sent };
    Ok(response::wrapped(data))
}

/// What signs the callbacks of tasks that are submitted with this key.
pub(super) fn callback_secret(context: &EdgeContext, key: &Key) -> Response<ResponseBody> {
    let secret = context.backend.callback_secret(key);
    response::wrapped(json!({"key": key.id, "secret": secret}))
}

async fn change(
    request: &EndpointRequest<'_>,
    key: Arc<Key>,
    action: WebhookAction,
    fingerprint: Digest,
) -> Outcome {
    let about = [request.route.surface.as_bytes(), request.param.as_bytes(), &fingerprint.0];
    let token = jobs::idempotency(&request.parts.headers)?;
    let asked = WebhookRequest {
        key,
        id: request.id,
        client: request.client.clone(),
        idempotency: token.map(|token| (token, Digest::of_fields(&about))),
        action,
    };
    let is_removal = matches!(asked.action, WebhookAction::Remove(_));
    let changed = request.context.backend.change_own_webhook(asked).await.map_err(refusal)?;
    let ChangedWebhook { id, webhook, secret, delivery: sent, repeated } = changed;
    let data = match (sent, webhook) {
        _ if is_removal => json!({"id": id, "deleted": true}),
        (Some(sent), _) => json!(DeliveryView::from(&sent)),
        (None, Some(webhook)) => json!(WebhookView { secret, ..WebhookView::from(&webhook) }),
        (None, None) => return Err(unknown(&id.to_string())),
    };
    let mut response = response::wrapped(data);
    jobs::mark_replayed(&mut response, repeated);
    Ok(response)
}

/// The fields of a body, and a digest of it.
async fn patch(request: &mut EndpointRequest<'_>, key: &Key) -> Result<(WebhookPatch, Digest), Refusal> {
    body::check_type(&request.parts.headers)?;
    let checked = jobs::checked_body(request, key, Some("webhook")).await?;
    if checked.is_dry_run() {
        return Err(Refusal::field("dry_run", "dry_run: expected none, as a webhook costs nothing"));
    }
    let fields: Map<String, Value> = serde_json::from_slice(checked.bytes()).map_err(Refusal::internal)?;
    let mut patch = WebhookPatch::default();
    for (name, value) in &fields {
        match name.as_str() {
            "url" => patch.url = Some(text(name, value)?),
            "description" => patch.description = Some(text(name, value)?),
            "enabled" => patch.enabled = Some(flag(name, value)?),
            "events" => patch.events = Some(events(name, value)?),
            _ => {
                let message = format!("{}: unknown field, expected {}", quoted(name), FIELDS.join(", "));
                return Err(Refusal::field(name, message));
            }
        }
    }
    Ok((patch, Digest::of(checked.bytes())))
}

fn events(name: &str, value: &Value) -> Result<Vec<WebhookEvent>, Refusal> {
    let words = WebhookEvent::OF_CUSTOMERS.map(WebhookEvent::as_str);
    let expected = |what: &str| format!("{what} of {}", words.join(", "));
    let all = value.as_array().ok_or_else(|| wrong_field(name, &expected("a list"), value))?;
    let known = |(at, event): (usize, &Value)| {
        let found = event.as_str().and_then(WebhookEvent::parse);
        found.ok_or_else(|| wrong_field(&format!("{name}[{at}]"), &expected("one"), event))
    };
    all.iter().enumerate().map(known).collect()
}

fn flag(name: &str, value: &Value) -> Result<bool, Refusal> {
    value.as_bool().ok_or_else(|| wrong_field(name, "true or false", value))
}

fn text(name: &str, value: &Value) -> Result<String, Refusal> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong_field(name, "a text", value))
}

fn refusal(error: WebhookError) -> Refusal {
    let message = error.to_string();
    match error {
        WebhookError::Unknown(id) => unknown(&id.to_string()),
        WebhookError::Conflict(_) | WebhookError::Changed(_) => Refusal::new(Kind::Conflict, message),
        WebhookError::DisabledByOperator(_) => Refusal::new(Kind::Forbidden, message).with_param("enabled"),
        WebhookError::StoppedAddress(_) => Refusal::new(Kind::Forbidden, message).with_param("url"),
        WebhookError::TooOften { wait, .. } => {
            Refusal::new(Kind::RateLimited, message).with_retry_after(Some(wait))
        }
        WebhookError::Request(SubmitError::Store(error)) => store_refusal(error),
        WebhookError::Request(error) => jobs::submit_refusal(error),
        other => Refusal::internal(other),
    }
}

/// A webhook that does not exist, is another customer's, or was made by an operator: the same refusal for all.
fn unknown(id: &str) -> Refusal {
    Refusal::new(Kind::NotFound, format!("unknown webhook {}", quoted(id)))
}

fn parse_id(id: &str) -> Result<WebhookId, Refusal> {
    id.parse().map_err(|_| unknown(id))
}
