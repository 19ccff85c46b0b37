//! A scripted backend: gives the results a test asks for, and records its calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use gatehouse_driver::{
    AnswerPieces, AnswerRequest, AnswerResponse, CancelError, Cancelled, ChargeUnit, CompletionRequest,
    CompletionResponse, DryRun, FollowedTask, Funds, KeptResponse, ListedPrice, MediaFile, MediaRefusal,
    Modality, ModelFacts, ModelListing, QueueEstimate, Receipt, RequestMemory, ServedRoute, StoreError,
    SubmitError, SubmitRequest, TaskFilter, TaskPage, TextError, UsageFilter, UsageRow, UsageRows, UsageSums,
    ViewError, ViewRequest, Waiting, WebhookRequest, WholeAnswer,
};
use gatehouse_model::{
    Credits, CustomerId, Digest, FailureKind, FamilyListing, Key, KeyDigest, KeyId, KeyPolicy, Media,
    Obstacle, QuotaUse, Sse, Status, SurfaceListing, Task, TaskId, Tracer, UnixMs,
};
use serde_json::Value;
use tokio::sync::watch;

use super::samples::{dry_run, fail, refusal, routes, task};

/// The files of the media store; the big one is larger than any socket buffer.
const PICTURE: &[u8] = b"0123456789";
const BIG: u64 = 256 << 20;

/// Bytes of the long kept response, and of its request.
pub(crate) const LONG: usize = 900_000;

/// When a balance is read: noon of a Thursday, 2026-11-26.
const BALANCE_AT: UnixMs = UnixMs(1_795_694_400_000);

/// What pictures are made of, and films of two models.
const PICTURE_SCHEMA: &str = r#"{"type": "object", "properties": {
    "prompt": {"type": "string"}, "size": {"enum": ["1:1", "16:9", null]}, "strength": {"type": ["number", "null"]},
    "image_urls": {"type": ["array", "null"], "items": {"type": "string"}}}}"#;
const FILM_SCHEMA: &str = r#"{"oneOf": [
    {"type": "object", "properties": {"model": {"const": "other"}, "image_urls": {"type": "array"}}},
    {"type": "object", "properties": {"model": {"const": "film"}, "prompt": {"type": "string"},
        "aspect_ratio": {"enum": ["16:9", "9:16"]}, "resolution": {"enum": ["720p", "1080p"]},
        "duration": {"type": "integer"}, "first_frame_image": {"type": "string"}}}]}"#;

/// The sending end of a stream.
type Events = tokio::sync::mpsc::Sender<Result<Vec<Sse>, TextError>>;

#[derive(Default)]
pub(crate) struct ScriptedBackend {
    pub(crate) tracer: Option<Arc<Tracer>>,
    pub(crate) keys: Mutex<Vec<Key>>,
    pub(crate) generation: AtomicU64,
    pub(crate) look_ups: AtomicUsize,
    pub(crate) submitted: Mutex<Vec<SubmitRequest>>,
    pub(crate) filters: Mutex<Vec<TaskFilter>>,
    pub(crate) tasks: watch::Sender<BTreeMap<TaskId, Task>>,
    pub(crate) ready: AtomicBool,
    pub(crate) starting: Mutex<Vec<String>>,
    pub(crate) broken: AtomicBool,
    /// The version of its family.
    pub(crate) version: AtomicU64,
    /// Streams left open.
    pub(crate) streams: Mutex<Vec<Events>>,
    /// Tasks whose results are deleted.
    pub(crate) deleted: Mutex<Vec<TaskId>>,
    /// The routes of its families.
    pub(crate) routes: Mutex<Arc<[ServedRoute]>>,
    /// What was to be changed of webhooks.
    pub(crate) webhook_requests: Mutex<Vec<WebhookRequest>>,
    /// The quota of its customer.
    pub(crate) customer_quota: Mutex<Option<QuotaUse>>,
}

impl ScriptedBackend {
    pub(crate) fn new(id: KeyId, digest: KeyDigest) -> Self {
        let policy = KeyPolicy { name: "test".to_owned(), ..KeyPolicy::default() };
        let key = Key::new(id, CustomerId::from("payer"), digest, UnixMs(0), policy);
        Self {
            keys: Mutex::new(vec![key]),
            ready: AtomicBool::new(true),
            version: AtomicU64::new(1),
            routes: Mutex::new(routes()),
            ..Self::default()
        }
    }

    /// Changes the one key, as an operator would.
    pub(crate) fn change_key(&self, change: impl FnOnce(&mut Key)) {
        change(&mut self.keys.lock().unwrap()[0]);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Puts a task there and gives its id.
    pub(crate) fn put(&self, number: u128, change: impl FnOnce(&mut Task)) -> TaskId {
        let mut task = task(TaskId::from_bits(number));
        change(&mut task);
        let id = task.id;
        self.tasks.send_modify(|tasks| drop(tasks.insert(id, task)));
        id
    }

    pub(super) fn working<T>(&self, value: T) -> Result<T, StoreError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Failed { reason: "disk on fire at /var/secret".to_owned() });
        }
        Ok(value)
    }
}

/// The methods of the driver.
impl ScriptedBackend {
    pub(crate) fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.as_ref()
    }
    pub(crate) async fn key(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        self.working(self.keys.lock().unwrap().iter().find(|key| key.digest == *digest).cloned())
    }
    pub(crate) fn keys_generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }
    pub(crate) async fn submit(&self, request: SubmitRequest) -> Result<Receipt, SubmitError> {
        let body: Value = serde_json::from_slice(request.body.bytes()).unwrap_or_default();
        let repeated = request.idempotency.as_deref() == Some("again");
        self.submitted.lock().unwrap().push(request);
        match body["refuse"].as_str() {
            Some("hang") => std::future::pending().await,
            // What the driver makes of a panic; it runs a submission on a task of its own.
            Some("panic") => Err(SubmitError::Internal("a bug".to_owned())),
            Some(word) => Err(refusal(word)),
            None => {
                let task = self.put(0x0198_0000, |task| task.progress = 10);
                Ok(Receipt { task, repeated })
            }
        }
    }
    pub(crate) async fn dry_run(&self, request: SubmitRequest) -> Result<DryRun, SubmitError> {
        let body: Value = serde_json::from_slice(request.body.bytes()).unwrap_or_default();
        assert!(body.get("dry_run").is_none(), "the host's field is taken out: {body}");
        match body["refuse"].as_str() {
            Some(word) => Err(refusal(word)),
            None => Ok(dry_run(ChargeUnit::Unit(String::new()), 3, false)),
        }
    }
    /// A task that has made 12 % waits as third, and one of 13 % as fourth, nobody knows how long.
    #[expect(clippy::unused_self, reason = "the driver's signature")]
    pub(crate) fn queue_estimate(&self, task: &Task) -> Option<QueueEstimate> {
        match task.progress {
            12 => Some(QueueEstimate { position: 3, wait: Some(Duration::from_millis(41_500)) }),
            13 => Some(QueueEstimate { position: 4, wait: None }),
            _ => None,
        }
    }
    pub(crate) async fn follow(&self, key: &Key, id: TaskId) -> Result<Option<FollowedTask>, StoreError> {
        let changes = self.tasks.subscribe();
        let Some(now) = self.task(key, id).await? else { return Ok(None) };
        let rest = (!now.status.is_final()).then_some(changes);
        let later = stream::unfold(rest, move |changes| async move {
            let mut changes = changes?;
            changes.changed().await.ok()?;
            let task = changes.borrow_and_update().get(&id).cloned()?;
            let rest = (!task.status.is_final()).then_some(changes);
            Some((Ok(task), rest))
        });
        Ok(Some(FollowedTask { now, later: later.boxed() }))
    }
    pub(crate) fn families(&self, key: Option<&Key>) -> Vec<FamilyListing> {
        let version = self.version.load(Ordering::SeqCst);
        let all = ["ctx-max", "ctx-pro"];
        let allowed = |model: &&str| {
            key.is_none_or(|key| key.models.is_empty() || key.models.iter().any(|own| own == model))
        };
        let surface = SurfaceListing {
            name: "images.generate".to_owned(),
            schema: PICTURE_SCHEMA.to_owned(),
            result_schema: None,
            models: all.into_iter().filter(allowed).map(str::to_owned).collect(),
            default_model: None,
            example: Some(r#"{"model": "ctx-pro", "prompt": "a kite"}"#.to_owned()),
        };
        let films = SurfaceListing {
            name: "videos.generate".to_owned(),
            schema: FILM_SCHEMA.to_owned(),
            result_schema: None,
            models: vec!["film".to_owned(), "film-alias".to_owned()],
            default_model: None,
            example: None,
        };
        vec![FamilyListing {
            family: "context-image".to_owned(),
            version: format!("1.0.{version}"),
            digest: Digest::of(&version.to_le_bytes()),
            views: vec!["journey.read".to_owned()],
            price_keys: vec!["ctx-pro".to_owned()],
            surfaces: vec![surface, films],
        }]
    }
    pub(crate) async fn complete(&self, request: CompletionRequest) -> Result<CompletionResponse, TextError> {
        let body: Value = serde_json::from_slice(request.body.bytes()).unwrap_or_default();
        if request.body.is_dry_run() {
            return Ok(CompletionResponse::DryRun(dry_run(ChargeUnit::InputTokens, 1_500_000, true)));
        }
        let rejected = |obstacle| TextError::Rejected {
            obstacle,
            message: "the provider's words".to_owned(),
            field: None,
            retry_after: Some(Duration::from_secs(90)),
        };
        let failure = |word: &str| match word {
            "account" => rejected(Obstacle::Account),
            "invalid" => rejected(Obstacle::Invalid),
            "rate" => rejected(Obstacle::RateLimited),
            "upstream" => rejected(Obstacle::Upstream),
            "timeout" => TextError::Timeout,
            "unknown" => TextError::Unavailable { retry_after: None },
            word => TextError::Refused(refusal(word)),
        };
        if let Some(word) = body["refuse"].as_str() {
            return Err(failure(word));
        }
        if let Some(bytes) = body["bytes"].as_u64() {
            let text = format!("\"{}\"", "x".repeat(usize::try_from(bytes).unwrap()));
            return Ok(CompletionResponse::Whole(text.into()));
        }
        let Some(events) = body["events"].as_array() else {
            return Ok(CompletionResponse::Whole(Bytes::from_static(br#"{"a":  1.0}"#)));
        };
        let (sender, receiver) = tokio::sync::mpsc::channel(8);
        for event in events {
            let piece = match event["fail"].as_str() {
                Some(word) => Err(failure(word)),
                None => {
                    let name = event["event"].as_str().map(str::to_owned);
                    Ok(vec![Sse { event: name, data: event["data"].to_string() }])
                }
            };
            sender.send(piece).await.unwrap();
        }
        if body["open"] == true {
            self.streams.lock().unwrap().push(sender);
        }
        Ok(CompletionResponse::Stream(receiver.into()))
    }
    /// `"type": "audio/mpeg"` is passed in pieces: as many as "pieces" says, and then the error that "fail" names.
    pub(crate) async fn answer(&self, request: AnswerRequest) -> Result<AnswerResponse, TextError> {
        let body: Value = serde_json::from_slice(request.body.bytes()).unwrap_or_default();
        if request.body.is_dry_run() {
            return Ok(AnswerResponse::DryRun(dry_run(ChargeUnit::Unit(String::new()), 3, false)));
        }
        if let Some(word) = body["refuse"].as_str() {
            return Err(TextError::Refused(refusal(word)));
        }
        if let Some(count) = body["pieces"].as_u64() {
            let (sender, receiver) = tokio::sync::mpsc::channel(16);
            for number in 0..count {
                sender.send(Ok(Bytes::from(format!("piece {number};")))).await.unwrap();
            }
            if body["fail"] == true {
                sender.send(Err(TextError::Timeout)).await.unwrap();
            }
            return Ok(AnswerResponse::Pieces(AnswerPieces::new("audio/mpeg".to_owned(), receiver)));
        }
        let body = format!("{} {} {body}", request.surface, request.reader.unwrap_or("-"));
        let mime = "text/html".to_owned();
        Ok(AnswerResponse::Whole(WholeAnswer {
            mime,
            body: body.into(),
            fresh_s: request.reader.map(|_| 60),
            is_repeated: request.idempotency.as_deref() == Some("again"),
        }))
    }
    pub(crate) async fn response(&self, _: &Key, id: &str) -> Result<Option<KeptResponse>, SubmitError> {
        if id == "resp_long" {
            let text = "x".repeat(LONG);
            let input = format!(r#"[{{"role":"user","content":"{text}"}}]"#).into();
            return Ok(Some(KeptResponse { response: format!("\"{text}\"").into(), input }));
        }
        let input =
            br#"[{"role":"user","content":"a"},{"type":"message","id":"msg_b","role":"user","content":"b"}]"#;
        let kept = KeptResponse {
            response: Bytes::from_static(br#"{"id":"resp_1"}"#),
            input: Bytes::from_static(input),
        };
        Ok((id == "resp_1").then_some(kept))
    }
    pub(crate) async fn response_events(
        &self,
        _: &Key,
        id: &str,
        after: Option<u64>,
        memory: Arc<dyn RequestMemory>,
    ) -> Result<Option<Vec<Sse>>, SubmitError> {
        if id == "resp_long" {
            memory.bring(LONG)?;
            return Ok(Some(vec![Sse { event: None, data: "x".repeat(LONG) }]));
        }
        let event = |number: u64| Sse { event: Some("response.a".to_owned()), data: number.to_string() };
        match after {
            Some(3..) => Err(SubmitError::Invalid {
                field: Some("starting_after".to_owned()),
                message: "starting_after: too many".to_owned(),
            }),
            after => {
                Ok((id == "resp_1").then(|| (after.map_or(0, |after| after + 1)..3).map(event).collect()))
            }
        }
    }
    pub(crate) async fn forget_response(&self, _: &Key, id: &str) -> Result<bool, SubmitError> {
        Ok(id == "resp_1")
    }
    pub(crate) async fn task(&self, _: &Key, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.working(self.tasks.borrow().get(&id).cloned())
    }
    pub(crate) async fn task_when_over(
        &self,
        key: &Key,
        id: TaskId,
        _: Duration,
    ) -> Result<Option<Task>, StoreError> {
        let over = |tasks: &BTreeMap<TaskId, Task>| tasks.get(&id).is_none_or(|task| task.status.is_final());
        let _ = self.tasks.subscribe().wait_for(over).await;
        self.task(key, id).await
    }
    pub(crate) async fn tasks(&self, _: &Key, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        self.filters.lock().unwrap().push(filter.clone());
        let tasks = self.tasks.borrow();
        let is_after = |task: &Task| filter.after.is_none_or(|after| task.id < after);
        let matches = |task: &&Task| filter.model.as_deref() != Some("unused") && is_after(task);
        let mut page: Vec<Task> = tasks.values().rev().filter(matches).cloned().collect();
        let rows_read = page.len();
        page.truncate(filter.limit);
        self.working(TaskPage { more: rows_read > page.len(), tasks: page, rows_read })
    }
    pub(crate) async fn cancel(&self, key: &Key, id: TaskId) -> Result<Cancelled, CancelError> {
        let task = self.task(key, id).await?.ok_or(CancelError::NotFound)?;
        match task.status {
            Status::Submitted => {
                let id = self.put(id.bits(), |task| fail(task, FailureKind::Cancelled, "cancelled"));
                Ok(Cancelled::Ended(self.tasks.borrow()[&id].clone()))
            }
            // Its provider can be asked.
            Status::Pending => Ok(Cancelled::Asked(task)),
            status if status.is_final() => Err(CancelError::Over(status)),
            _ => Err(CancelError::Running),
        }
    }
    pub(crate) async fn view(&self, request: &ViewRequest<'_>) -> Result<Vec<u8>, ViewError> {
        let task = self.task(request.key, request.task).await?.ok_or(ViewError::NotFound)?;
        match task.family.as_str() {
            "viewless" => Err(ViewError::NotFound),
            "broken" => Err(ViewError::Plugin(task.model)),
            _ => Ok(format!(
                r#"{{"surface":"{}","at":"{}","id":"{}"}}"#,
                request.surface, request.base, task.id
            )
            .into_bytes()),
        }
    }
    pub(crate) fn waiting(&self, task: &Task) -> Option<Waiting> {
        (task.public == b"modal").then(|| Waiting { what: "modal".into(), why: Some("no file".into()) })
    }
    pub(crate) fn result(&self, task: &Task, base: &str) -> Option<Vec<u8>> {
        if task.public.is_empty() {
            return None;
        }
        Some(format!(r#"{{"images":[{{"url":["{base}/v1/media/{}"]}}]}}"#, task.id).into_bytes())
    }
    pub(crate) async fn funds(&self, key: &Key) -> Result<Option<Funds>, StoreError> {
        let (available, reserved, spent) = (Credits(4_500_000), Credits(1), Credits::ZERO);
        let (quota, key_quota) = (*self.customer_quota.lock().unwrap(), key.quota_use(BALANCE_AT));
        self.working(Some(Funds { available, reserved, spent, quota, key: key.clone(), key_quota }))
    }
    /// A row a day and key, as many as may be read.
    pub(crate) async fn usage(&self, key: &Key, filter: UsageFilter) -> Result<UsageRows, StoreError> {
        let sums = UsageSums { requests: 2, output: 7, settled: Credits(250_000), ..UsageSums::default() };
        let row = |period| UsageRow {
            customer: key.customer.clone(),
            key: filter.key.clone().unwrap_or_else(|| key.id.clone()),
            period,
            model: ["ctx-pro", "lm-1"][usize::try_from(period % 2).unwrap()].to_owned(),
            sums,
        };
        let start = filter.after.as_ref().map_or(filter.days.start, |after| after.period + 1);
        let mut rows: Vec<UsageRow> = (start..filter.days.end).map(row).collect();
        let rows_read = rows.len();
        rows.truncate(filter.max_rows);
        self.working(UsageRows { rows, next: None, rows_read })
    }
    pub(crate) async fn usage_in_all(&self, key: &Key, filter: UsageFilter) -> Result<UsageRows, StoreError> {
        self.usage(key, filter).await
    }
    pub(crate) async fn models(&self, _: &Key) -> Result<Vec<ModelListing>, StoreError> {
        let listing = |id: &str| ModelListing {
            id: id.to_owned(),
            family: "context-image".to_owned(),
            surfaces: vec!["images.generate".to_owned()],
            modality: (id == "odd:name").then(|| "hologram".to_owned()),
            facts: ModelFacts {
                context_tokens: Some(200_000),
                max_output_tokens: Some(64_000),
                inputs: vec![Modality::Text, Modality::Image],
                prices: vec![ListedPrice { key: id.to_owned(), unit: "unit", price: Credits(1_500_000) }],
            },
            since: UnixMs(1_700_000_000_999),
        };
        self.working(vec![listing("ctx-pro"), listing("odd:name"), listing("film")])
    }
    pub(crate) async fn media(
        &self,
        name: &str,
        expires: &str,
        signature: &str,
        range: Option<&str>,
    ) -> Result<MediaFile, MediaRefusal> {
        if signature != "good" {
            return Err(MediaRefusal::NotFound);
        }
        let end = UnixMs(expires.parse::<u64>().unwrap() * 1000);
        match (name, expires) {
            (_, "1") => Err(MediaRefusal::Expired),
            (_, "2") => Err(MediaRefusal::Unavailable),
            ("broken", _) => Err(MediaRefusal::Broken),
            ("big.mp4", _) => {
                let piece = Bytes::from(vec![0; 1 << 20]);
                let body = stream::repeat_with(move || Ok(piece.clone())).take(256).boxed();
                Ok(MediaFile {
                    mime: "video/mp4",
                    length: BIG,
                    range: 0..BIG,
                    partial: false,
                    expires: end,
                    body,
                })
            }
            _ => {
                let all = 0..PICTURE.len() as u64;
                let (part, partial) = match range {
                    Some("bytes=2-4") => (2..5, true),
                    Some("bytes=0-") => (all.clone(), true),
                    Some("bytes=99-") => return Err(MediaRefusal::BadRange(all.end)),
                    _ => (all.clone(), false),
                };
                let bytes =
                    &PICTURE[usize::try_from(part.start).unwrap()..usize::try_from(part.end).unwrap()];
                let body = stream::iter([Ok(Bytes::from_static(bytes))]).boxed();
                Ok(MediaFile { mime: "image/png", length: all.end, range: part, partial, expires: end, body })
            }
        }
    }
    /// The files of results are those of links.
    pub(crate) async fn result_file(
        &self,
        media: &Media,
        range: Option<&str>,
    ) -> Result<MediaFile, MediaRefusal> {
        let expires = media.expires.seconds().to_string();
        self.media(&media.id.to_string(), &expires, "good", range).await
    }
    pub(crate) async fn is_result_deleted(&self, task: &Task) -> Result<bool, MediaRefusal> {
        Ok(self.deleted.lock().unwrap().contains(&task.id))
    }
    pub(crate) async fn delete_result(&self, task: &Task) -> Result<(), MediaRefusal> {
        self.deleted.lock().unwrap().push(task.id);
        Ok(())
    }
    /// An alias is told by its ending.
    #[expect(clippy::unused_self, reason = "the driver's signature")]
    pub(crate) fn model_id(&self, name: &str) -> Option<String> {
        Some(name.trim_end_matches("-alias").to_owned())
    }
    pub(crate) fn routes(&self) -> Arc<[ServedRoute]> {
        Arc::clone(&self.routes.lock().unwrap())
    }
    /// A family "hidden" is told as one that never was.
    #[expect(clippy::unused_self, reason = "the driver's signature")]
    pub(crate) fn switched_off_path(&self, path: &str, family: &str) -> Option<SubmitError> {
        (family != "hidden").then(|| SubmitError::PathSwitchedOff(path.to_owned()))
    }
    pub(crate) fn starting(&self) -> Option<SubmitError> {
        let families = self.families_not_ready();
        (!families.is_empty()).then(|| SubmitError::Starting(families.join(", ")))
    }
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::SeqCst) && self.families_not_ready().is_empty()
    }
    pub(crate) fn families_not_ready(&self) -> Vec<String> {
        self.starting.lock().unwrap().clone()
    }
}
