//! The endpoints, one file a group. Each turns a request into calls of the driver and their results into the
//! specification's shapes. None knows a connection, a key's text or a status code of an error.

mod account;
pub(crate) mod direct;
mod documentation;
mod dry_run;
mod events;
pub(crate) mod jobs;
mod media;
mod models;
mod openai;
mod task_view;
mod tasks;
pub(crate) mod text;
mod usage;
mod webhooks;

use std::sync::Arc;

use gatehouse_driver::WebhookAction;
use gatehouse_model::Key;
use gatehouse_net::ShutdownPhase;
use serde_json::json;

use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::response;
use crate::routing::routes::Endpoint;

/// Calls the endpoint of the request's route. `key` is absent on routes that need none.
pub(crate) async fn respond(request: EndpointRequest<'_>, key: Option<Arc<Key>>) -> Outcome {
    let context = request.context;
    match (request.route.endpoint, key) {
        (Endpoint::ReadMedia, _) => media::read(&request).await,
        (Endpoint::Live, _) => Ok(response::json(&json!({ "status": "ok" }))),
        (Endpoint::Ready, _) => ready(context),
        (Endpoint::OpenApi, key) => documentation::openapi(&request, key.as_deref()).await,
        (Endpoint::Docs, key) => documentation::page(&request, key.as_deref()).await,
        (Endpoint::DocsStyle, _) => Ok(documentation::style(&request)),
        (Endpoint::AccountPage, _) => account::page(&request),
        (Endpoint::AccountFile, _) => account::file(&request),
        (_, None) => Err(Refusal::new(Kind::Unauthenticated, "missing API key")),
        (Endpoint::Submit(submission), Some(key)) => match openai::is_wanted(&request, &key)? {
            true => openai::generate(request, key).await,
            false => jobs::submit(request, key, submission).await,
        },
        (Endpoint::EditImages, Some(key)) => openai::generate(request, key).await,
        (Endpoint::CreateVideo, Some(key)) => openai::videos::create(request, key).await,
        (Endpoint::ListVideos, Some(key)) => openai::videos::list(&request, &key).await,
        (Endpoint::ReadVideo, Some(key)) => openai::videos::read(&request, &key).await,
        (Endpoint::DeleteVideo, Some(key)) => openai::videos::delete(&request, &key).await,
        (Endpoint::ReadVideoContent, Some(key)) => openai::videos::content(&request, &key).await,
        (Endpoint::Complete, Some(key)) => openai::completions::complete(request, key).await,
        (Endpoint::ReadTask, Some(key)) => tasks::read(&request, &key).await,
        (Endpoint::TaskEvents, Some(key)) => events::follow(&request, &key).await,
        (Endpoint::CancelTask, Some(key)) => tasks::cancel(&request, key).await,
        (Endpoint::ListTasks, Some(key)) => tasks::list(&request, &key).await,
        (Endpoint::ViewTask, Some(key)) => tasks::view_of_family(&request, &key).await,
        (Endpoint::ReadBalance, Some(key)) => usage::balance(context, &key).await,
        (Endpoint::ReadKey, Some(key)) => Ok(account::key(&key)),
        (Endpoint::ReadUsage, Some(key)) => usage::usage(&request, &key).await,
        (Endpoint::CreateWebhook, Some(key)) => webhooks::create(request, key).await,
        (Endpoint::ListWebhooks, Some(key)) => webhooks::list(context, &key).await,
        (Endpoint::ReadWebhook, Some(key)) => webhooks::read(&request, &key).await,
        (Endpoint::EditWebhook, Some(key)) => webhooks::edit(request, key).await,
        (Endpoint::DeleteWebhook, Some(key)) => webhooks::act(request, key, WebhookAction::Remove).await,
        (Endpoint::RotateWebhook, Some(key)) => webhooks::act(request, key, WebhookAction::Rotate).await,
        (Endpoint::TestWebhook, Some(key)) => webhooks::act(request, key, WebhookAction::Test).await,
        (Endpoint::ListDeliveries, Some(key)) => webhooks::deliveries(&request, &key).await,
        (Endpoint::ReadCallback, Some(key)) => webhooks::callback(&request, &key).await,
        (Endpoint::ReadCallbackSecret, Some(key)) => Ok(webhooks::callback_secret(context, &key)),
        (Endpoint::ListModels, Some(key)) => models::list(&request, &key).await,
        (Endpoint::ReadModel, Some(key)) => models::read(&request, &key).await,
        (Endpoint::ReadResponse, Some(key)) => text::read(&request, &key).await,
        (Endpoint::DeleteResponse, Some(key)) => text::delete(&request, &key).await,
        (Endpoint::CancelResponse, Some(key)) => text::cancel(&request, &key).await,
        (Endpoint::ListResponseItems, Some(key)) => text::items(&request, &key).await,
        (Endpoint::Answer(model), Some(key)) => direct::answer(request, key, model).await,
        (Endpoint::Read(family), Some(key)) => direct::read(request, key, family).await,
        (Endpoint::Text, Some(key)) => text::respond(request, key).await,
        // Spec "Endpoint list": not implemented, 404.
        (Endpoint::CountTokens, Some(_)) => {
            Err(Refusal::new(Kind::NotFound, "counting tokens is not offered here"))
        }
        (Endpoint::SwitchedOff(family), Some(_)) => {
            Err(Refusal::internal(format!("a request of family {family:?}, which is off, has come this far")))
        }
    }
}

/// The gateway takes new work, of every family.
fn ready(context: &EdgeContext) -> Outcome {
    if *context.shutdown.borrow() == ShutdownPhase::Serving && context.backend.is_ready() {
        return Ok(response::json(&json!({ "status": "ready" })));
    }
    let starting = context.backend.families_not_ready();
    if starting.is_empty() {
        return Err(Refusal::new(Kind::Draining, "the gateway takes no new work at the moment"));
    }
    let message =
        format!("the gateway is starting, and these families are not ready: {}", starting.join(", "));
    Err(Refusal::new(Kind::Draining, message))
}
