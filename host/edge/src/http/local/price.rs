//! What a request would cost, of which nobody is known who pays: an operator asks. The same checks as for a client's
//! request, but for rates, balance and quota; nothing is made of it.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{
    AnswerRequest, AnswerResponse, CheckedBody, CompletionRequest, CompletionResponse, DryRun, RequestReport,
    SubmitRequest, parent_kind,
};
use gatehouse_model::{Key, RequestId, TaskId};

use crate::endpoints::{jobs, text};
use crate::errors::{Kind, Refusal};
use crate::http::context::EdgeContext;
use crate::http::query::quoted;
use crate::http::routes::{Endpoint, ParentIn, Route, Submission};

/// The price of a request on `route`, whose path has `param` in its braces. `payer` stands for nobody's key; the customer
/// in it owns the tasks and names that the request refers to.
pub(super) async fn price(
    context: &EdgeContext,
    (route, param): (&Route, &str),
    (id, payer): (RequestId, Key),
    body: Bytes,
) -> Result<DryRun, Refusal> {
    let (key, surface, report) = (Arc::new(payer), route.surface, RequestReport::default());
    let checked = |body, model| async move {
        let body = CheckedBody::check(body, model).await;
        body.map(CheckedBody::for_price).map_err(|error| jobs::submit_refusal(error, None))
    };
    match route.endpoint {
        Endpoint::Submit(Submission { model, parent, .. }) => {
            let parent = match parent {
                ParentIn::Nowhere => None,
                ParentIn::Path => {
                    let message = || format!("unknown {} {}", parent_kind(surface), quoted(param));
                    let unknown = || Refusal::new(Kind::NotFound, message());
                    Some(param.parse::<TaskId>().map_err(|_| unknown())?)
                }
            };
            let body = checked(body, model).await?;
            let request = SubmitRequest { key, surface, parent, body, idempotency: None, report };
            let implied = model.map(|_| route.pattern);
            context.backend.dry_run(request).await.map_err(|error| jobs::submit_refusal(error, implied))
        }
        Endpoint::Text => {
            let body = checked(body, None).await?;
            let request = CompletionRequest { id, key, surface, body, headers: Vec::new(), report };
            match context.backend.complete(request).await.map_err(text::text_refusal)? {
                CompletionResponse::DryRun(found) => Ok(found),
                CompletionResponse::Whole(_) | CompletionResponse::Stream(_) => {
                    Err(Refusal::internal("a request that only asks for its price was served"))
                }
            }
        }
        Endpoint::Answer(model) => {
            let body = checked(body, model).await?;
            let request = AnswerRequest { id, key, surface, reader: None, body, idempotency: None, report };
            match context.backend.answer(request).await.map_err(text::text_refusal)? {
                AnswerResponse::DryRun(found) => Ok(found),
                AnswerResponse::Whole(_) | AnswerResponse::Pieces(_) => {
                    Err(Refusal::internal("a request that only asks for its price was served"))
                }
            }
        }
        Endpoint::EditImages | Endpoint::CreateVideo | Endpoint::Complete => {
            let twin = match route.endpoint {
                Endpoint::EditImages => "/v1/images/generations",
                Endpoint::CreateVideo => "/v1/videos/generations",
                _ => "/v1/chat/completions",
            };
            let message = format!("path: {} has the prices of {twin}, expected that path", route.pattern);
            Err(Refusal::field("path", message))
        }
        _ => Err(Refusal::field("path", format!("path: {} {} costs nothing", route.method, route.pattern))),
    }
}
