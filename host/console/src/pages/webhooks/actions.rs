//! What an operator does with a webhook or a delivery.

use gatehouse_admin::{Moment, ResendRange, ResentRange, ResponseBody, WebhookChange, WebhookPolicy};
use gatehouse_model::{DeliveryId, WebhookId};
use http::{Response, StatusCode};

use super::new;
use crate::context::PageContext;
use crate::error::PageError;
use crate::parts::shell::redirect;
use crate::request::PageRequest;

/// The webhook in the address.
pub(super) fn id(request: &PageRequest) -> Result<WebhookId, PageError> {
    request.id.parse().map_err(|_| PageError::not_found(format!("no webhook {}", request.id)))
}

/// `POST /webhooks/<id>/test`.
pub(crate) async fn test(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let id = id(request)?;
    pages.service.test_webhook(id).await?;
    Ok(redirect(&format!("/webhooks/{id}?done=tested")))
}

/// `POST /webhooks/<id>/rotate`.
pub(crate) async fn rotate(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (webhook, secret) = pages.service.rotate_webhook(id(request)?).await?;
    Ok(new::created(pages, request, &webhook, &secret))
}

/// `POST /webhooks/<id>/retire`.
pub(crate) async fn retire(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let id = id(request)?;
    pages.service.change_webhook(WebhookChange::Retire { id }).await?;
    Ok(redirect(&format!("/webhooks/{id}?done=retired")))
}

/// `POST /webhooks/<id>/enable`.
pub(crate) async fn enable(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    switch(pages, request, true).await
}

/// `POST /webhooks/<id>/disable`.
pub(crate) async fn disable(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    switch(pages, request, false).await
}

async fn switch(
    pages: &PageContext,
    request: &PageRequest,
    enabled: bool,
) -> Result<Response<ResponseBody>, PageError> {
    let id = id(request)?;
    let row = pages.service.webhook_row(id)?;
    let policy = WebhookPolicy { enabled, ..row.policy() };
    pages.service.edit_webhook(id, row.revision, policy).await?;
    Ok(redirect(&format!("/webhooks/{id}?done={}", if enabled { "enabled" } else { "disabled" })))
}

/// `POST /webhooks/<id>/remove`.
pub(crate) async fn remove(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    pages.service.change_webhook(WebhookChange::Remove { id: id(request)? }).await?;
    Ok(redirect("/webhooks?done=forgotten"))
}

/// `POST /webhooks/<id>/resend`: the failed events of a range, at most 500 at a time.
pub(crate) async fn resend_range(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (id, form) = (id(request)?, request.form());
    let moment = |name: &str| {
        let text = form.text(name);
        let wrong = |error| PageError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{name}: {error}"));
        (!text.is_empty()).then(|| Moment::parse(text)).transpose().map_err(wrong)
    };
    let range = ResendRange {
        from: moment("from")?,
        before: moment("before")?,
        delivered: form.is_on("delivered"),
        cursor: None,
    };
    let ResentRange { resent, next } = pages.service.resend_range(id, &range).await?;
    let done = match (resent, next) {
        (0, _) => "resent-none",
        (_, None) => "resent-range",
        (_, Some(_)) => "resent-part",
    };
    Ok(redirect(&format!("/webhooks/{id}?done={done}")))
}

/// `POST /deliveries/<id>/resend`.
pub(crate) async fn resend(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let id: Result<DeliveryId, _> = request.id.parse();
    let id = id.map_err(|_| PageError::not_found(format!("no delivery {}", request.id)))?;
    let delivery = pages.service.resend_delivery(id).await?;
    Ok(redirect(&format!("/webhooks/{}?done=resent", delivery.webhook)))
}
