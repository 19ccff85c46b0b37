//! The listener of the data plane. Checks in the provider's order: key, JSON, schema, model, content, media, assets; then
//! the markers. Has the pixels of a video by resolution and ratio.

use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use super::content::{self, Content};
use super::request;
use super::view;
use crate::ark::faults::{Faults, Marker};
use crate::ark::provider::Provider;
use crate::ark::record::{ArkAsset, ArkSubmit};
use crate::ark::refusal::Refusal;
use crate::ark::tasks::{ArkTask, Stage, brief};
use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{self, Body, HandlerResult, bearer, closed, parameter};
use gatehouse_sandbox_files::Film;

const PATH: &str = "/api/v3/contents/generations/tasks";
/// "body <= 64 MB".
const MAX_BODY_BYTES: usize = 64 << 20;

/// The pixels of a video: ratio, then width and height for 480p, 720p and 1080p. 4k has twice the sides of 1080p.
const SIZES: [(&str, [(u32, u32); 3]); 6] = [
    ("16:9", [(864, 496), (1280, 720), (1920, 1080)]),
    ("4:3", [(752, 560), (1112, 834), (1664, 1248)]),
    ("1:1", [(640, 640), (960, 960), (1440, 1440)]),
    ("3:4", [(560, 752), (834, 1112), (1248, 1664)]),
    ("9:16", [(496, 864), (720, 1280), (1080, 1920)]),
    ("21:9", [(992, 432), (1470, 630), (2205, 945)]),
];

/// The listener of the data plane: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let account = bearer(request.headers()).and_then(|key| provider.settings.account(key));
    let Some(account) = account else { return Ok(Refusal::unauthenticated().response()) };
    let (path, method) = (request.uri().path(), request.method().clone());
    match (path.strip_prefix(PATH), method) {
        (Some(""), Method::POST) => create(&provider, account, request).await,
        (Some(""), Method::GET) => Ok(list(&provider, account, request.uri().query().unwrap_or_default())),
        (Some(rest), Method::GET) => Ok(answer(&provider, account, rest.trim_start_matches('/'))),
        (Some(rest), Method::DELETE) => Ok(delete(&provider, account, rest.trim_start_matches('/'))),
        _ => Ok(Refusal::not_found("path").response()),
    }
}

async fn create(provider: &Provider, account: usize, request: Request<Incoming>) -> HandlerResult {
    let is_json = server::mime(request.headers()) == "application/json";
    let bytes = server::read(request.into_body(), MAX_BODY_BYTES).await?;
    let body: Option<Value> = bytes.filter(|_| is_json).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(body) = body else {
        let refusal = Refusal::new(400, "InvalidParameter", "The request body is not valid JSON.");
        provider.table().tasks.decline(&refusal, String::new());
        return Ok(refusal.response());
    };
    let prompt = content::prompt_of(&body);
    let fault = provider.table().tasks.fault(&prompt);
    if fault == Some(Marker::Reset) {
        return Err(closed());
    }
    match admit(provider, account, &body, fault) {
        Ok((id, fault)) => match fault {
            Some(Marker::ReceiptCut) => Err(closed()),
            Some(Marker::ReceiptHang) => std::future::pending().await,
            Some(_) => Ok(server::reply(200, "application/json", "{\"id\": \"cgt-")),
            None => Ok(server::json(200, &json!({ "id": id }))),
        },
        Err(refusal) => {
            provider.table().tasks.decline(&refusal, prompt);
            if fault == Some(Marker::Unavailable) {
                return Ok(server::reply(503, "text/html", "<html><body>503</body></html>\n"));
            }
            Ok(refusal.response())
        }
    }
}

/// The id of an accepted task, and the fault of its receipt.
fn admit(
    provider: &Provider,
    account: usize,
    body: &Value,
    fault: Option<Marker>,
) -> Result<(String, Option<Marker>), Refusal> {
    let create = request::read(body)?;
    content::inspect(&create.content, &create.resolution, &provider.addresses.samples)?;
    let now = provider.now();
    check_assets(provider, account, &create.content, now)?;
    if let Some(fault) = fault {
        return Err(Refusal::of(fault));
    }
    let prompt = create.content.prompt;
    let faults = Faults::of(&prompt);
    let receipt = faults.fault(Target::Receipt);
    let (width, height, ratio) = size(&create.ratio, &create.resolution);
    let digest: [u8; 32] = Sha256::digest(format!("{}{}{prompt}", create.model, body["seed"])).into();
    let seed = match body["seed"].as_i64().map(u32::try_from) {
        Some(Ok(seed)) => seed,
        _ => u32::from_be_bytes([digest[4], digest[5], digest[6], digest[7]]),
    };
    let film = Film {
        width,
        height,
        milliseconds: create.seconds * 1000,
        sound: body["generate_audio"].as_bool().unwrap_or(true),
        colour: [digest[0], digest[1], digest[2]],
    };
    let task = ArkTask {
        record: ArkSubmit { account, prompt, body: brief(body), ..ArkSubmit::default() },
        faults,
        resolution: create.resolution,
        ratio,
        seconds: create.seconds,
        seed,
        film,
        runs_at: None,
        over_at: None,
        downloads: 0,
    };
    Ok((provider.table().tasks.accept(task, now, provider.settings.job_ms()), receipt))
}

/// Width and height, and the ratio that `adaptive` becomes.
fn size(ratio: &str, resolution: &str) -> (u32, u32, &'static str) {
    let (name, sizes) = SIZES.iter().find(|(name, _)| *name == ratio).unwrap_or(&SIZES[0]);
    let (width, height) = match resolution {
        "480p" => sizes[0],
        "720p" => sizes[1],
        "1080p" => sizes[2],
        _ => (sizes[2].0 * 2, sizes[2].1 * 2),
    };
    (width, height, name)
}

/// An asset must be this account's, approved, of the right type, and of the key's project.
fn check_assets(provider: &Provider, account: usize, content: &Content, now: u64) -> Result<(), Refusal> {
    let state = provider.table();
    for item in &content.media {
        let Some(id) = item.url.strip_prefix("asset://") else { continue };
        let fits = |record: &ArkAsset| record.asset_type == item.media.name() && record.project == "default";
        let found = state.library.asset(account, id, now).filter(|asset| fits(asset.record));
        let problem = match found {
            None => "is not found",
            Some(asset) if asset.status != "Active" => "is not active",
            Some(_) => continue,
        };
        return Err(Refusal::invalid(&item.path, format!("The specified asset {id} {problem}.")));
    }
    Ok(())
}

fn answer(provider: &Provider, account: usize, id: &str) -> Response<Body> {
    let (now, mut state) = (provider.now(), provider.table());
    let Some(task) = state.tasks.task(account, id) else { return Refusal::not_found("task").response() };
    let earlier = count(&mut task.record.polls);
    match task.faults.poll_fault(earlier) {
        Some(Marker::FirstPollNotFound) => Refusal::not_found("task").response(),
        Some(Marker::PollDenied) => Refusal::unauthenticated().response(),
        Some(Marker::PollMalformed) => {
            server::reply(200, "application/json", format!("{{\"id\":\"{id}\",\"status\":\"succ"))
        }
        Some(Marker::PollOddStatus) => server::json(200, &view::task(provider, task, now, Some(earlier))),
        Some(fault) => Refusal::of(fault).response(),
        None => server::json(200, &view::task(provider, task, now, None)),
    }
}

/// Takes a task out of the queue, or forgets one that has ended.
fn delete(provider: &Provider, account: usize, id: &str) -> Response<Body> {
    let (now, mut state) = (provider.now(), provider.table());
    let Some(task) = state.tasks.task(account, id) else { return Refusal::not_found("task").response() };
    match task.stage(now) {
        Stage::Queued => task.record.cancelled = true,
        Stage::Running => {
            let message = "The task is running and cannot be deleted.";
            return Refusal::new(409, "InvalidAction.RunningTaskDeletion", message).response();
        }
        Stage::Over | Stage::Cancelled => state.tasks.delete(id),
    }
    server::json(200, &json!({}))
}

fn list(provider: &Provider, account: usize, query: &str) -> Response<Body> {
    let number = |name: &str, usual: usize| {
        parameter(query, name)
            .and_then(|text| text.parse().ok())
            .filter(|number| *number > 0)
            .unwrap_or(usual)
    };
    let ids: Vec<String> = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "filter.task_ids")
        .map(|(_, id)| id.into_owned())
        .collect();
    let status = parameter(query, "filter.status");
    let (now, state) = (provider.now(), provider.table());
    let views =
        state.tasks.of_account(account).filter(|task| ids.is_empty() || ids.contains(&task.record.id));
    let views = views.map(|task| view::task(provider, task, now, None));
    let found: Vec<Value> =
        views.filter(|view| status.as_ref().is_none_or(|status| view["status"] == **status)).collect();
    let (total, size) = (found.len(), number("page_size", 10).min(500));
    let items: Vec<Value> = found.into_iter().skip((number("page_num", 1) - 1) * size).take(size).collect();
    server::json(200, &json!({"items": items, "total": total}))
}
