//! The submit origin: accepts jobs, tells credits. Has no results.
//!
//! Checks in the provider's order: key, JSON, schema, images, then the account and the markers.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use serde_json::{Number, Value, json};
use sha2::{Digest, Sha256};

use super::input_image::{self, InputImage};
use super::schema::{self, SubmitRequest};
use super::sizes;
use crate::common::faults::Target;
use crate::common::server::{self, Body, HandlerResult, closed};
use crate::context::faults::{Faults, Marker};
use crate::context::jobs::Job;
use crate::context::provider::{Provider, account};
use crate::context::record::{Declined, Submit};
use crate::context::refusal::{Refusal, not_allowed};
use gatehouse_sandbox_files::Picture;

/// Four images of 20 MB in base64, and the rest of a body.
const MAX_BODY_BYTES: usize = 112 << 20;

/// The models, and their prices in the provider's credits.
const MODELS: [(&str, u32); 2] = [("flux-kontext-pro", 4), ("flux-kontext-max", 8)];

/// The submit listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let path = request.uri().path();
    if path == "/v1/credits" {
        return Ok(credits(&provider, &request));
    }
    let model = MODELS.into_iter().find(|(name, _)| path.strip_prefix("/v1/") == Some(name));
    match model {
        Some((model, price)) if request.method() == Method::POST => {
            submit(&provider, model, price, request).await
        }
        Some(_) => Ok(not_allowed("POST")),
        None => Ok(Refusal::not_found().response()),
    }
}

fn credits(provider: &Provider, request: &Request<Incoming>) -> Response<Body> {
    if request.method() != Method::GET {
        return not_allowed("GET");
    }
    match account(provider, request.headers()) {
        Ok(account) => server::json(200, &json!({ "credits": provider.table().credits(account) })),
        Err(refusal) => refusal.response(),
    }
}

async fn submit(provider: &Provider, model: &str, price: u32, request: Request<Incoming>) -> HandlerResult {
    let (head, body) = request.into_parts();
    let bytes = server::read(body, MAX_BODY_BYTES).await?;
    let body = bytes.ok_or_else(Refusal::too_large).and_then(|bytes| parse(&head.headers, &bytes));
    let prompt = body.as_ref().ok().and_then(|body| body["prompt"].as_str()).map(str::to_owned);
    match admit(provider, model, price, &head.headers, body).await {
        Ok((_, Some(Marker::SubmitCut))) => Err(closed()),
        Ok((_, Some(Marker::SubmitHang))) => std::future::pending().await,
        Ok((_, Some(Marker::SubmitGarbage))) => {
            Ok(server::reply(200, "application/json", "{\"id\": \"5f0c2f3e-"))
        }
        Ok((receipt, _)) => Ok(server::json(200, &receipt)),
        Err(refusal) => {
            let declined = Declined { status: refusal.status, prompt, at: provider.now() };
            provider.table().declined.push(declined);
            Ok(refusal.response())
        }
    }
}

/// The receipt of an accepted job, and the fault that strikes it.
async fn admit(
    provider: &Provider,
    model: &str,
    price: u32,
    headers: &HeaderMap,
    body: Result<Value, Refusal>,
) -> Result<(Value, Option<Marker>), Refusal> {
    let account = account(provider, headers)?;
    let body = body?;
    let request = schema::check(&body).map_err(Refusal::schema)?;
    let images = inspect(provider, &request).await?;
    let faults = Faults::of(&request.prompt);
    let fault = faults.fault(Target::Receipt);
    let seed = request.seed.clone().map_or_else(random_seed, Ok)?;
    let picture = picture(model, &request, &seed, &images);
    let mut receipt = json!({
        "cost": f64::from(price),
        "input_mp": sizes::megapixels(images.iter().map(InputImage::pixels).sum()),
        "output_mp": sizes::megapixels(u64::from(picture.width) * u64::from(picture.height)),
    });
    let prompt_used = prompt_used(&request);
    let (model, body) = (model.to_owned(), record(body, &images));
    let record =
        Submit { account, model, prompt: request.prompt, body, cost: price.into(), ..Submit::default() };
    let job = Job { record, prompt_used, seed, picture, faults, over_at: None, links: 0, downloads: 0 };
    let id = provider.table().accept(job, provider.now())?;
    if let Some(url) = request.webhook_url {
        receipt["status"] = "Pending".into();
        receipt["webhook_url"] = url.into();
    } else {
        let is_foreign = fault == Some(Marker::ForeignPoll);
        let host = if is_foreign { "https://polling.foreign.example" } else { &provider.addresses.poll };
        receipt["polling_url"] = format!("{host}/v1/get_result?id={id}").into();
    }
    receipt["id"] = id.into();
    Ok((receipt, fault))
}

async fn inspect(provider: &Provider, request: &SubmitRequest) -> Result<Vec<InputImage>, Refusal> {
    if request.images.is_empty() {
        return Ok(Vec::new());
    }
    let (images, samples) = (request.images.clone(), provider.addresses.samples.clone());
    let inspected = tokio::task::spawn_blocking(move || input_image::inspect(&images, &samples)).await;
    inspected.map_err(|_| Refusal::broken())?.map_err(Refusal::schema)
}

/// The body as JSON. Without a JSON content type it is only text to the provider's framework.
fn parse(headers: &HeaderMap, bytes: &Bytes) -> Result<Value, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::field("missing", json!(["body"]), "Field required", &Value::Null, None));
    }
    let mime = server::mime(headers).to_ascii_lowercase();
    if mime != "application/json" && !(mime.starts_with("application/") && mime.ends_with("+json")) {
        let text = Value::String(String::from_utf8_lossy(bytes).into_owned());
        return Err(Refusal::schema(vec![schema::not_an_object(&text)]));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let ctx = json!({ "error": error.to_string() });
        let loc = json!(["body", error.column()]);
        Refusal::field("json_invalid", loc, "JSON decode error", &json!({}), Some(ctx))
    })
}

fn random_seed() -> Result<Number, Refusal> {
    getrandom::u32().map(Number::from).map_err(|_| Refusal::broken())
}

/// The prompt after upsampling.
fn prompt_used(request: &SubmitRequest) -> String {
    if request.upsampling {
        format!("{}, finely detailed, soft natural light, balanced composition", request.prompt)
    } else {
        request.prompt.clone()
    }
}

/// The picture that every submit with these parameters gets.
fn picture(model: &str, request: &SubmitRequest, seed: &Number, images: &[InputImage]) -> Picture {
    let (width, height) = match (request.ratio, images.first()) {
        (Some((width, height)), _) => sizes::nearest(width, height),
        (None, Some(first)) => sizes::nearest(first.width, first.height),
        (None, None) => sizes::DEFAULT,
    };
    let mut digest = Sha256::new();
    let (upsampling, tolerance) = (request.upsampling.to_string(), request.tolerance.to_string());
    for part in [model, &request.prompt, &seed.to_string(), &upsampling, &tolerance] {
        // Each part ends with its length, so that no two lists of parts read the same.
        digest.update(part);
        digest.update(part.len().to_le_bytes());
    }
    for image in images {
        digest.update(image.field);
        digest.update(image.digest);
    }
    Picture { width, height, format: request.format, digest: digest.finalize().into() }
}

/// The body for the record: each image replaced by its facts.
fn record(mut body: Value, images: &[InputImage]) -> Value {
    for image in images {
        body[image.field] = image.record.clone();
    }
    body
}
