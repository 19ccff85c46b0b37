//! Requests of this process itself: an operator asks for a price, or sends a request as a key whose secret nobody has.
//!
//! They pass what follows the check of a key: routes, limits, endpoints, error envelopes, the access record. They come over
//! no connection, so its rules and a key's networks do not apply to them. Never reachable through a listener.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{
    AnswerRequest, AnswerResponse, CheckedBody, CompletionRequest, CompletionResponse, DryRun, RequestReport,
    SubmitRequest, parent_kind,
};
use gatehouse_model::{
    Boxed, CustomerId, Digest, Key, KeyDigest, KeyId, KeyPolicy, Recent, RequestId, RequestLine, TaskId,
};
use gatehouse_net::{Activity, ServedBody};
use http::{HeaderValue, Method, Request, Response};

use crate::endpoints::text::{self, FORMAT};
use crate::endpoints::{self, jobs};
use crate::errors::{Form, Kind, Refusal};
use crate::http::access_log::AccessRecord;
use crate::http::auth::check_life;
use crate::http::body::RequestBody;
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::quoted;
use crate::routing::routes::{Endpoint, ParentIn, Route, Submission, SurfaceRow, served};
use crate::routing::table::{Lookup, RouteTable};
use crate::serving::pipeline::{Pipeline, hold_while_streamed, wrong_method};

/// The entry for requests of this process.
#[derive(Clone)]
pub struct LocalRequests(pub(crate) Arc<Pipeline>);

/// Why a request would be refused, as the public API says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LocalError {
    /// HTTP status.
    pub status: u16,
    /// `error.reason` of the generic form.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// The wrong field.
    pub param: Option<String>,
}

impl From<Refusal> for LocalError {
    fn from(refusal: Refusal) -> Self {
        if let Some(cause) = refusal.cause() {
            tracing::error!(cause, "a price could not be told");
        }
        let (row, message, param) = refusal.parts();
        let (message, param) = (message.to_owned(), param.map(str::to_owned));
        Self { status: row.status, reason: row.reason, message, param }
    }
}

impl LocalRequests {
    /// Takes over the routes of this moment, whose counters begin: a page of metrics shows those of families that no request has
    /// come to yet.
    pub fn follow_routes(&self) {
        drop(self.0.context.table());
    }

    /// The last requests of all listeners and of this process.
    #[must_use]
    pub fn log(&self) -> Arc<Recent<RequestLine>> {
        Arc::clone(&self.0.context.log)
    }

    /// Every route of this moment that serves a surface.
    #[must_use]
    pub fn routes(&self) -> Vec<SurfaceRow> {
        served(&self.0.context.table())
    }

    /// What a request would cost: `target` is the path of its endpoint, or the surface that serves it. Needs no key and no
    /// money, and makes nothing. Tasks and names that the body refers to are those of `customer`.
    ///
    /// # Errors
    /// The refusal that a client would read; `path` is the field of a target that is no paid endpoint.
    pub fn price<'a>(
        &'a self,
        target: &'a str,
        body: Bytes,
        customer: Option<CustomerId>,
    ) -> Boxed<'a, Result<DryRun, LocalError>> {
        let context = &self.0.context;
        let now = context.clock.now();
        let id = RequestId::new(now, &*context.seed);
        let customer = customer.unwrap_or_else(|| CustomerId::from(""));
        let digest = KeyDigest(Digest::of(b""));
        let payer = Key::new(KeyId::from(""), customer, digest, now, KeyPolicy::default());
        Box::pin(async move {
            let table = context.table();
            let (route, param) = target_route(&table, target)?;
            Ok(price(context, route, param, id, payer, body).await?)
        })
    }

    /// Answers a request as `key`: its quota, models, rates and limits count, and it is charged. `base_url` begins the
    /// links in the answer.
    pub fn respond(
        &self,
        key: Arc<Key>,
        request: Request<Bytes>,
        base_url: String,
    ) -> Boxed<'_, Response<ServedBody>> {
        Box::pin(async move {
            let (mut parts, bytes) = request.into_parts();
            let context = &self.0.context;
            let id = RequestId::new(context.clock.now(), &*context.seed);
            let mut record = AccessRecord::new(id, parts.method.clone(), &Activity::default(), &context.log);
            record.received = bytes.len() as u64;
            let mut body = RequestBody::whole(bytes);
            let form = Form::of(parts.uri.path());
            let table = context.table();
            let found = table.look_up(&parts.method, parts.uri.path());
            if matches!(found, Lookup::Route(row, _) if matches!(row.endpoint, Endpoint::Submit(_))) {
                // A page follows a task by its receipt, whatever the key's own clients read.
                parts.headers.entry(FORMAT).or_insert(HeaderValue::from_static("wrapped"));
            }
            let result = async {
                let (route, param) = route(&table, &parts.method, parts.uri.path())?;
                (record.pattern, record.surface) = (route.pattern, route.surface);
                check_life(&key, context.clock.now())?;
                self.0.admit(&key, &mut record)?;
                body.count_for(&key);
                let (body, report) = (&mut body, record.report.clone());
                let client = "console".to_owned();
                let parts = &parts;
                let request =
                    EndpointRequest { context, parts, body, route, id, client, param, base_url, report };
                endpoints::respond(request, Some(Arc::clone(&key))).await
            };
            let result = result.await;
            hold_while_streamed(&result, &mut body, &mut record);
            self.0.complete(result, form, record, |_, _| ()).map(ServedBody::new)
        })
    }
}

fn route<'t, 'p>(
    table: &'t RouteTable,
    method: &Method,
    path: &'p str,
) -> Result<(&'t Route, &'p str), Refusal> {
    match table.look_up(method, path) {
        Lookup::Route(route, _) if is_off(route) => {
            Err(Refusal::new(Kind::NotServed, format!("path {} is switched off", quoted(path))))
        }
        Lookup::Route(route, param) => Ok((route, param.unwrap_or_default())),
        Lookup::OtherMethods(allowed) => Err(wrong_method(method, &allowed)),
        Lookup::UnknownPath => Err(Refusal::new(Kind::UnknownPath, format!("unknown path {}", quoted(path)))),
    }
}

/// Whether the family of a route is switched off.
fn is_off(route: &Route) -> bool {
    matches!(route.endpoint, Endpoint::SwitchedOff(_))
}

/// The row of a path, or of the first path that serves a surface.
fn target_route<'t, 'p>(table: &'t RouteTable, target: &'p str) -> Result<(&'t Route, &'p str), Refusal> {
    let found = if target.starts_with('/') {
        route(table, &Method::POST, target).ok()
    } else {
        let is_named = |row: &&Route| row.surface == target && row.method == Method::POST && !is_off(row);
        table.rows().iter().find(is_named).map(|row| (row, ""))
    };
    found.ok_or_else(|| {
        let message = format!(
            "path: expected the path or the surface of a POST endpoint, such as \"/v1/images/generations\" or \
             \"images.generate\", got {}",
            quoted(target)
        );
        Refusal::field("path", message)
    })
}

/// The price of a request on `route`, whose path has `param` in its braces. `payer` stands for nobody's key; the customer
/// in it owns the tasks and names that the request refers to.
async fn price(
    context: &EdgeContext,
    route: &Route,
    param: &str,
    id: RequestId,
    payer: Key,
    body: Bytes,
) -> Result<DryRun, Refusal> {
    let (key, surface, report) = (Arc::new(payer), route.surface, RequestReport::default());
    let checked = |body, model| async move {
        let body = CheckedBody::check(body, model).await;
        body.map(CheckedBody::for_price).map_err(jobs::submit_refusal)
    };
    let served = || Refusal::internal("a request that only asks for its price was served");
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
            context.backend.dry_run(request).await.map_err(|error| jobs::job_refusal(error, implied))
        }
        Endpoint::Text => {
            let body = checked(body, None).await?;
            let request = CompletionRequest { id, key, surface, body, headers: Vec::new(), report };
            match context.backend.complete(request).await.map_err(text::text_refusal)? {
                CompletionResponse::DryRun(found) => Ok(found),
                CompletionResponse::Whole(_) | CompletionResponse::Stream(_) => Err(served()),
            }
        }
        Endpoint::Answer(model) => {
            let body = checked(body, model).await?;
            let request = AnswerRequest { id, key, surface, reader: None, body, idempotency: None, report };
            match context.backend.answer(request).await.map_err(text::text_refusal)? {
                AnswerResponse::DryRun(found) => Ok(found),
                AnswerResponse::Whole(_) | AnswerResponse::Pieces(_) => Err(served()),
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

#[cfg(test)]
mod tests {
    use gatehouse_driver::ServedRoute;
    use gatehouse_model::specified_routes;

    use super::*;
    use crate::tests::support::samples::served;

    #[test]
    fn a_target_is_a_path_or_a_surface() {
        let table = RouteTable::of(&specified_routes().iter().map(served).collect());
        for (target, expected) in [
            ("/v1/images/generations", Some(("images.generate", ""))),
            ("images.generate", Some(("images.generate", ""))),
            ("/v1/videos/task_x/remix", Some(("videos.remix", "task_x"))),
            ("chat.completions", Some(("chat.completions", ""))),
            ("tasks.read", None),
            ("/v1/tasks", None),
            ("/v1/none", None),
            ("", None),
        ] {
            let found = target_route(&table, target).ok().map(|(route, param)| (route.surface, param));
            assert_eq!(found, expected, "{target}");
        }
        let mut off: Vec<ServedRoute> = specified_routes().iter().map(served).collect();
        off.iter_mut().for_each(|route| route.is_off = true);
        let off = RouteTable::of(&off.into_iter().collect());
        assert!(target_route(&off, "images.generate").is_err(), "it would fail inside of the gateway");
        let refusal = route(&off, &Method::POST, "/v1/images/generations").err().unwrap();
        assert_eq!(refusal.kind(), Kind::NotServed);
        let error = LocalError::from(target_route(&table, "/none").err().unwrap());
        assert_eq!((error.status, error.param.as_deref()), (400, Some("path")), "{error}");
    }
}
