//! `/webhooks/{webhook}/deliveries` and `/deliveries`: what was sent, every attempt, and sending it again.

use gatehouse_model::{DeliveryId, WebhookId};
use gatehouse_store::DeliveryQuery;
use gatehouse_tasks::{Command, FieldChange, WebhookChange, WebhookDelivery};

use crate::api::webhook::{DeliveryView, ResendRange, ResentRange};
use crate::http::call::{Call, Outcome};
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::request::query::{Form, Parameter, filter};
use crate::http::route::Route;
use crate::http::values::List;

const FILTERS: [Parameter; 1] = [filter("pending", Form::Flag, "Only deliveries that wait.")];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/webhooks/{webhook}/deliveries",
            "listDeliveries",
            "Lists the deliveries of the last seven days, newest first.",
            list,
        )
        .query(&FILTERS)
        .paged()
        .returns::<List<DeliveryView>>(),
        Route::post(
            "/webhooks/{webhook}/resend",
            "resendDeliveries",
            "Sends the events of a range again, newest first; at most 500 in one request.",
            resend_range,
        )
        .body::<ResendRange>()
        .returns::<ResentRange>(),
        Route::get("/deliveries/{delivery}", "getDelivery", "Shows one delivery with its attempts.", show)
            .returns::<DeliveryView>(),
        Route::post(
            "/deliveries/{delivery}/resend",
            "resendDelivery",
            "Sends an event again under its id, or now instead of later.",
            resend,
        )
        .returns::<DeliveryView>(),
    ]
}

async fn list(call: Call) -> Outcome {
    let text = call.path("webhook");
    let webhook: WebhookId = text.parse().map_err(|_| ApiError::not_found(format!("no webhook {text}")))?;
    call.service.webhook_row(webhook)?;
    let before = call.position()?.map(|id| id.parse::<DeliveryId>()).transpose();
    let before = before.map_err(|_| ApiError::field("cursor", "cursor: it is not of this list"))?;
    let query = DeliveryQuery { webhook, pending: call.query.flag("pending") };
    let page = call.service.deliveries_page(query, before, call.query.limit()).await?;
    let deliveries = page.rows.iter().map(DeliveryView::from).collect();
    Ok(call.list(deliveries, page.next.map(|id| id.to_string()).as_deref()))
}

async fn resend_range(call: Call) -> Outcome {
    let text = call.path("webhook");
    let webhook: WebhookId = text.parse().map_err(|_| ApiError::not_found(format!("no webhook {text}")))?;
    let (chosen, answer) = call.service.choose_resent(webhook, &call.json()?).await?;
    let count =
        FieldChange { field: "deliveries".to_owned(), before: None, after: Some(chosen.len().to_string()) };
    let change = WebhookChange::ResendAll { id: webhook, deliveries: chosen };
    let command = Command::Webhook { change: Box::new(change), at: call.at };
    let made = webhook.to_string();
    call.commit(command, (format!("webhooks/{made}"), &made), 200, vec![count]).await?;
    Ok(Reply::json(&answer))
}

async fn show(call: Call) -> Outcome {
    Ok(Reply::json(&DeliveryView::from(&find(&call)?)))
}

async fn resend(call: Call) -> Outcome {
    let id = find(&call)?.id;
    let change = WebhookChange::Resend { delivery: id };
    let command = Command::Webhook { change: Box::new(change), at: call.at };
    let made = id.to_string();
    call.commit(command, (format!("deliveries/{made}"), &made), 200, Vec::new()).await?;
    Ok(Reply::json(&DeliveryView::from(&find(&call)?)))
}

fn find(call: &Call) -> Result<WebhookDelivery, ApiError> {
    let text = call.path("delivery");
    let id = text.parse().map_err(|_| ApiError::not_found(format!("no delivery {text}")))?;
    Ok(call.service.delivery(id)?)
}
