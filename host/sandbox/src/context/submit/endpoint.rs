//! The submit origin: accepts jobs, tells credits. Has no results.
//!
//! Checks in the provider's order: key, JSON, schema, images, then the account and the markers.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Number, Value, json};
use sha2::{Digest, Sha256};

use super::input_image::{self, InputImage};
use super::schema::{self, SubmitRequest};
use super::sizes;
use crate::common::picture::Picture;
use crate::common::server::{self, Body, CloseConnection, Handler, HandlerResult, ReadError, with};
use crate::context::faults::{Faults, ReceiptFault};
use crate::context::jobs::NewJob;
use crate::context::provider::Provider;
use crate::context::refusal::{Refusal, field_error};

/// Four images of 20 MB in base64, and the rest of a body.
const MAX_BODY_BYTES: usize = 112 << 20;

/// The submit listener.
pub(crate) struct SubmitEndpoint(pub(crate) Arc<Provider>);

/// A model and its price in the provider's credits.
#[derive(Clone, Copy)]
struct PricedModel {
    model: &'static str,
    price: u32,
}

impl PricedModel {
    fn at(path: &str) -> Option<Self> {
        match path {
            "/v1/flux-kontext-pro" => Some(Self { model: "flux-kontext-pro", price: 4 }),
            "/v1/flux-kontext-max" => Some(Self { model: "flux-kontext-max", price: 8 }),
            _ => None,
        }
    }
}

/// The reply to an accepted job.
struct Receipt {
    id: String,
    cost: f64,
    input_mp: f64,
    output_mp: f64,
    webhook_url: Option<String>,
    fault: Option<ReceiptFault>,
}

impl Handler for SubmitEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let path = request.uri().path();
        if path == "/v1/credits" {
            return Ok(self.credits(&request));
        }
        match PricedModel::at(path) {
            Some(endpoint) if request.method() == Method::POST => self.submit(endpoint, request).await,
            Some(_) => Ok(with(Refusal::method().response(), "allow", "POST")),
            None => Ok(Refusal::not_found().response()),
        }
    }
}

impl SubmitEndpoint {
    fn credits(&self, request: &Request<Incoming>) -> Response<Body> {
        if request.method() != Method::GET {
            return with(Refusal::method().response(), "allow", "GET");
        }
        match self.0.account(request.headers()) {
            Ok(account) => {
                let credits = self.0.jobs().credits(account);
                server::json(StatusCode::OK, &json!({ "credits": credits }))
            }
            Err(refusal) => refusal.response(),
        }
    }

    async fn submit(&self, endpoint: PricedModel, request: Request<Incoming>) -> HandlerResult {
        let (head, body) = request.into_parts();
        let body = match server::read(body, MAX_BODY_BYTES).await {
            Ok(bytes) => parse(&head.headers, &bytes),
            Err(ReadError::TooLarge) => Err(Refusal::too_large()),
            Err(ReadError::Broken) => return Err(CloseConnection),
        };
        let prompt = body.as_ref().ok().and_then(|body| body["prompt"].as_str()).map(str::to_owned);
        match self.admit(endpoint, &head.headers, body).await {
            Ok(receipt) => self.receipt(receipt).await,
            Err(refusal) => {
                self.0.jobs().decline(refusal.status(), prompt, self.0.now());
                Ok(refusal.response())
            }
        }
    }

    async fn admit(
        &self,
        endpoint: PricedModel,
        headers: &HeaderMap,
        body: Result<Value, Refusal>,
    ) -> Result<Receipt, Refusal> {
        let account = self.0.account(headers)?;
        let body = body?;
        let order = schema::check(&body).map_err(Refusal::schema)?;
        let seen = self.look(&order).await?;
        let faults = Faults::of(&order.prompt);
        let seed = order.seed.clone().map_or_else(random_seed, Ok)?;
        let picture = picture(endpoint, &order, &seed, &seen);
        let mut receipt = Receipt {
            id: String::new(),
            cost: f64::from(endpoint.price),
            input_mp: sizes::megapixels(seen.iter().map(InputImage::pixels).sum()),
            output_mp: sizes::megapixels(u64::from(picture.width) * u64::from(picture.height)),
            webhook_url: order.webhook_url.clone(),
            fault: faults.receipt,
        };
        let new_job = NewJob {
            account,
            model: endpoint.model,
            price: endpoint.price.into(),
            prompt_used: prompt_used(&order),
            prompt: order.prompt,
            seed,
            picture,
            faults,
            body: record(body, &seen),
        };
        receipt.id = self.0.jobs().accept(new_job, self.0.now())?;
        Ok(receipt)
    }

    async fn look(&self, order: &SubmitRequest) -> Result<Vec<InputImage>, Refusal> {
        if order.images.is_empty() {
            return Ok(Vec::new());
        }
        let (images, samples) = (order.images.clone(), self.0.addresses().samples.clone());
        let looked = tokio::task::spawn_blocking(move || input_image::inspect(&images, &samples)).await;
        looked.map_err(|_| Refusal::broken())?.map_err(Refusal::schema)
    }

    async fn receipt(&self, receipt: Receipt) -> HandlerResult {
        let Receipt { id, cost, input_mp, output_mp, webhook_url, fault } = receipt;
        let host = match fault {
            Some(ReceiptFault::Cut) => return Err(CloseConnection),
            Some(ReceiptFault::Hang) => std::future::pending().await,
            Some(ReceiptFault::Garbage) => {
                return Ok(server::reply(StatusCode::OK, "application/json", "{\"id\": \"5f0c2f3e-"));
            }
            Some(ReceiptFault::ForeignPoll) => "https://polling.foreign.example",
            None => &self.0.addresses().poll,
        };
        let mut body = json!({ "id": id, "cost": cost, "input_mp": input_mp, "output_mp": output_mp });
        match webhook_url {
            Some(url) => {
                body["status"] = "Pending".into();
                body["webhook_url"] = url.into();
            }
            None => body["polling_url"] = format!("{host}/v1/get_result?id={id}").into(),
        }
        Ok(server::json(StatusCode::OK, &body))
    }
}

/// The body as JSON. Without a JSON content type it is only text to the provider's framework.
fn parse(headers: &HeaderMap, bytes: &Bytes) -> Result<Value, Refusal> {
    if bytes.is_empty() {
        let missing = field_error("missing", json!(["body"]), "Field required", &Value::Null, None);
        return Err(Refusal::schema(vec![missing]));
    }
    if !is_json(headers) {
        let text = Value::String(String::from_utf8_lossy(bytes).into_owned());
        return Err(Refusal::schema(vec![schema::not_an_object(&text)]));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let ctx = json!({ "error": error.to_string() });
        let loc = json!(["body", error.column()]);
        Refusal::schema(vec![field_error("json_invalid", loc, "JSON decode error", &json!({}), Some(ctx))])
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let mime = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

fn random_seed() -> Result<Number, Refusal> {
    getrandom::u32().map(Number::from).map_err(|_| Refusal::broken())
}

/// The prompt after upsampling.
fn prompt_used(order: &SubmitRequest) -> String {
    if order.upsampling {
        format!("{}, finely detailed, soft natural light, balanced composition", order.prompt)
    } else {
        order.prompt.clone()
    }
}

/// The picture that every submit with these parameters gets.
fn picture(endpoint: PricedModel, order: &SubmitRequest, seed: &Number, seen: &[InputImage]) -> Picture {
    let (width, height) = match (order.ratio, seen.first()) {
        (Some((width, height)), _) => sizes::nearest(width, height),
        (None, Some(first)) => sizes::nearest(first.width, first.height),
        (None, None) => sizes::DEFAULT,
    };
    let mut digest = Sha256::new();
    let (upsampling, tolerance) = (order.upsampling.to_string(), order.tolerance.to_string());
    for part in [endpoint.model, &order.prompt, &seed.to_string(), &upsampling, &tolerance] {
        // Each part ends with its length, so that no two lists of parts read the same.
        digest.update(part);
        digest.update(part.len().to_le_bytes());
    }
    for image in seen {
        digest.update(image.field);
        digest.update(image.digest);
    }
    Picture { width, height, format: order.format, digest: digest.finalize().into() }
}

/// The body for the record: each image replaced by its facts.
fn record(mut body: Value, seen: &[InputImage]) -> Value {
    for image in seen {
        body[image.field] = image.record.clone();
    }
    body
}
