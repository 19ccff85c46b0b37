//! One text request from its body to its answer: prepared, paid for in advance, served, settled.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use gatehouse_media::Extracted;
use gatehouse_model::{Boxed, Context, Json, Pause};
use gatehouse_runtime::Version;
use gatehouse_upstream::Claimant;
use tokio::sync::mpsc;

use crate::api::DryRun;
use crate::config::tables::Tables;
use crate::detached::detached;
use crate::errors::SubmitError;
use crate::in_progress::InProgressGuard;
use crate::memory::RequestMemory;
use crate::models::table::{ModelKind, TextModel};
use crate::request_report::WorkGuard;
use crate::served::Served;
use crate::shared::{Shared, ShutdownState};
use crate::submit::judge::Judge;
use crate::text::api::{CompletionRequest, CompletionResponse, TextError, TextStream};
use crate::text::attempt::{RequestBlobs, TextCalls, TextRun};
use crate::text::history::{Conversations, Kept, with_completed_at};
use crate::text::hold::{Holds, TextHold};
use crate::text::left::Produced;
use crate::text::pump::{Client, MAX_QUEUED_BATCHES, Pump, note_usage};
use crate::text::translation::{Source, Translated, Translator};
use crate::text::tried_targets::TriedTargets;

/// Where models are asked that make something else than text.
const ENDPOINTS: [(&str, &str); 2] =
    [("images.generate", "POST /v1/images/generations"), ("videos.generate", "POST /v1/videos/generations")];

/// The surface whose conversations the host keeps.
const RESPONSES: &str = "responses.create";

/// What a request came to; a stream's batches go to its client, which is to get its head when the pause is over.
enum Completed {
    Whole(Bytes),
    DryRun(DryRun),
    Stream(Option<Pause>),
}

/// Answers text requests.
pub struct Texts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) served: Arc<Served>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) translator: Arc<Translator>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) calls: Arc<TextCalls>,
}

impl Texts {
    /// Answers a text request. Dropped before its answer, it means that the client has left: see `left`.
    ///
    /// # Errors
    /// [`TextError`]; nothing was charged.
    pub fn complete(
        self: &Arc<Self>,
        request: CompletionRequest,
    ) -> Boxed<'_, Result<CompletionResponse, TextError>> {
        Box::pin(async move {
            if self.shared.has_reached(ShutdownState::Stopped) {
                return Err(SubmitError::Draining.into());
            }
            let (texts, body) = (Arc::clone(self), request.body.bytes().clone());
            let in_progress = self.shared.in_progress.begin_text();
            let work = request.report.begin_work();
            // The client is there for as long as this end is.
            let (client, batches) = mpsc::channel(MAX_QUEUED_BATCHES);
            // It has some 13 KB, and is handed on several times before it runs.
            let completed = detached(body, Box::pin(texts.completed(request, client, in_progress, work)));
            Ok(match completed.await? {
                Completed::Whole(body) => CompletionResponse::Whole(body),
                Completed::DryRun(found) => CompletionResponse::DryRun(found),
                Completed::Stream(head) => CompletionResponse::Stream(TextStream::new(batches, head)),
            })
        })
    }

    async fn completed(
        self: Arc<Self>,
        mut request: CompletionRequest,
        client: Client,
        in_progress: InProgressGuard,
        work: WorkGuard,
    ) -> Result<Completed, TextError> {
        let tables = self.shared.tables.load_full();
        let variant = self.judge.variant_of(&request.key.customer).await?;
        let (model, version) = self.text_model(&tables, variant.as_deref(), &request)?;
        let (json, kept) = if request.surface == RESPONSES {
            self.conversations.with_history(&request).await?
        } else {
            (request.body.json().clone(), None)
        };
        let mut targets = self.calls.usable_targets(&tables, &model, &request, &json).await?;
        let cut = if model.kind == ModelKind::Embedding {
            // Its inputs are texts: what looks like a file is one all the same.
            Extracted { json, blobs: vec![], bad_links: vec![] }
        } else {
            self.judge.cut_to_send(json, request.surface, None).await?
        };
        let cx = self.shared.waiting_context(&version, &request.key.customer);
        let mut source = Source {
            surface: request.surface,
            body: cut.json,
            headers: std::mem::take(&mut request.headers),
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
            key: request.key.id.clone(),
            report: request.report.clone(),
            only_asks: request.body.is_dry_run(),
            only_price: request.body.is_price_only(),
            version,
        };
        let Translated { version, prepared, instance, dialect } =
            self.first_translated(&source, &cx, &model, &mut targets).await?;
        let estimates = self.translator.estimates(&source, &cx, &model, &mut targets, &prepared).await?;
        let at = targets.first();
        if targets.has_one() {
            // Nobody reads it again: the answer may take long.
            source.body = Json::default();
        }
        request.report.read_by(&version);
        if request.body.is_dry_run() {
            return self.text_dry_run(&request, &model.id, estimates).await.map(Completed::DryRun);
        }
        let streaming = prepared.streaming;
        let held = self.holds.reserve(&request, &model.id, estimates, streaming, work).await?;
        let held = Arc::new(held);
        let claimant = Claimant { customer: request.key.customer.clone(), key: request.key.id.clone() };
        let run = TextRun {
            claimant,
            version,
            cx,
            prepared,
            instance,
            dialect,
            blobs: RequestBlobs(cut.blobs),
            model,
            at,
            source,
            targets,
            held: Arc::clone(&held),
            report: request.report.clone(),
            span: None,
            tables,
            is_response: request.surface == RESPONSES,
            client,
        };
        let (state, of_run, memory) = (Arc::clone(&self), Arc::clone(&held), request.body.memory());
        let answer = pin!(async move {
            if streaming {
                state.stream(in_progress, of_run, run, kept, memory).await
            } else {
                state.whole(&of_run, run, kept).await
            }
        });
        self.release_on_panic(&held, answer).await?
    }

    /// The request as the first target that can say it takes it; the others are left. Where none can, what is wrong for the
    /// first of all.
    async fn first_translated(
        &self,
        source: &Source,
        cx: &Context,
        model: &TextModel,
        targets: &mut TriedTargets,
    ) -> Result<Translated, TextError> {
        let mut first_error = None;
        loop {
            let target = targets.first();
            match self.translator.translated(source, cx, &model.targets[target].route).await {
                Ok(translated) => return Ok(translated),
                Err(error) if targets.has_one() => return Err(first_error.unwrap_or(error)),
                Err(error) => {
                    targets.leave(target);
                    first_error.get_or_insert(error);
                }
            }
        }
    }

    /// One body, however long it takes, and whether or not its client still waits: it is counted when it comes.
    async fn whole(
        &self,
        held: &TextHold,
        mut run: TextRun,
        kept: Option<Kept>,
    ) -> Result<Completed, TextError> {
        match self.calls.serve(&mut run).await.and_then(|answer| Ok(answer.into_whole()?)) {
            Ok(mut answered) => {
                if run.is_response {
                    let response = with_completed_at(String::from(&*answered.body), self.shared.now());
                    answered.body = response.into();
                }
                let (counted, count) = held.bill().counted(answered.usage, answered.output_bytes.into());
                note_usage(run.span.take(), &counted);
                self.holds.settle(held, counted, &answered.counters, count).await?;
                if let Some(kept) = kept {
                    self.conversations.keep(kept, answered.body.as_bytes()).await?;
                }
                Ok(Completed::Whole(answered.body.into_bytes()))
            }
            Err(unanswered) => Err(self.holds.close(held, unanswered).await),
        }
    }

    /// A stream. If no account has answered within the time a client waits for its head, the client gets the
    /// stream at once. The work behind it stays the same: it goes on trying accounts.
    async fn stream(
        self: Arc<Self>,
        in_progress: InProgressGuard,
        held: Arc<TextHold>,
        mut run: TextRun,
        kept: Option<Kept>,
        memory: Option<Arc<dyn RequestMemory>>,
    ) -> Result<Completed, TextError> {
        let (client, report) = (run.client.clone(), run.report.clone());
        let mut head = self.shared.clock.pause(self.shared.config.text.head());
        let state = Arc::clone(&self);
        let mut serving = Box::pin(async move {
            state.calls.serve(&mut run).await.and_then(|answer| Ok(answer.into_stream()?))
        });
        let pump = Pump {
            holds: Arc::clone(&self.holds),
            conversations: Arc::clone(&self.conversations),
            held: Arc::clone(&held),
            client: client.clone(),
            report,
            kept,
            produced: Produced::default(),
            _memory: memory,
        };
        let head = tokio::select! {
            biased;
            open_stream = &mut serving => match open_stream {
                Ok(open_stream) => {
                    self.spawn_stream(in_progress, held, client, Box::pin(pump.run(open_stream)));
                    Some(head)
                }
                Err(unanswered) => return Err(self.holds.close(&held, unanswered).await),
            },
            () = &mut head => {
                let (state, of_work, to_client) = (Arc::clone(&self), Arc::clone(&held), client.clone());
                let work = async move {
                    match serving.await {
                        Ok(open_stream) => pump.run(open_stream).await,
                        Err(unanswered) => {
                            let error = state.holds.close(&of_work, unanswered).await;
                            // The client may have disconnected.
                            let _ = to_client.send(Err(error)).await;
                        }
                    }
                };
                self.spawn_stream(in_progress, held, client, Box::pin(work));
                None
            }
        };
        Ok(Completed::Stream(head))
    }

    /// Runs the rest of a stream on a task of its own. A panic there ends the stream with an error.
    fn spawn_stream(
        self: Arc<Self>,
        in_progress: InProgressGuard,
        held: Arc<TextHold>,
        client: Client,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        tokio::spawn(async move {
            if let Err(error) = self.release_on_panic(&held, work).await {
                // The client may have disconnected.
                let _ = client.send(Err(error)).await;
            }
            // What waits for the bill is told before a shutdown goes on.
            drop(held);
            drop(in_progress);
        });
    }

    /// Does the work of a request. A panic in it releases the hold; where it was settled before, that changes
    /// nothing.
    async fn release_on_panic<T>(
        &self,
        held: &TextHold,
        work: impl Future<Output = T> + Send,
    ) -> Result<T, TextError> {
        let outcome = AssertUnwindSafe(work).catch_unwind().await;
        if outcome.is_err() {
            self.holds.release(held);
        }
        outcome.map_err(|_| SubmitError::Internal("a text request panicked".to_owned()).into())
    }

    /// With the prices of a variant of the book: the model the body names, or the surface's own, and the version that translates for it.
    fn text_model(
        &self,
        tables: &Tables,
        variant: Option<&str>,
        request: &CompletionRequest,
    ) -> Result<(Arc<TextModel>, Arc<Version>), SubmitError> {
        let version = self.shared.plugins.registry().text(request.surface);
        let default = || {
            let surfaces = &version.as_ref()?.about().surfaces;
            surfaces.iter().find(|own| own.name == request.surface)?.default_model.clone()
        };
        let requested = request.body.model().map(str::to_owned).or_else(default);
        let requested = requested.ok_or_else(|| self.served.no_default_model())?;
        let model =
            tables.models_of(variant).find(&requested).ok_or_else(|| self.no_text_model(&requested))?;
        let version = version.ok_or_else(|| self.served.no_text_family(&requested, request.surface))?;
        if !self.judge.may_use(&request.key, &requested, &model.id) {
            return Err(SubmitError::ModelForbidden(requested));
        }
        request.report.of_model(&model.id);
        request.report.tagged(request.body.tags());
        if model.targets.len() > 1 {
            request.report.of_targets();
        }
        check_kind(model, request.surface, &requested)?;
        if !request.body.is_price_only() {
            self.served.check_text_provider(tables, &model.id)?;
        }
        Ok((Arc::clone(model), version))
    }

    /// The refusal of a model that answers no text: one of another kind is named with its endpoint.
    fn no_text_model(&self, requested: &str) -> SubmitError {
        let rows = self.shared.plugins.registry().models();
        let row = rows.iter().find(|row| row.id == requested);
        let endpoint = ENDPOINTS
            .iter()
            .find(|(surface, _)| row.is_some_and(|row| row.surfaces.iter().any(|served| served == surface)));
        let Some((_, endpoint)) = endpoint else { return self.served.unknown_model(requested.to_owned()) };
        let message = format!("`model`: expected a text model, got {requested:?}; {endpoint} serves it");
        SubmitError::Invalid { field: Some("model".to_owned()), message }
    }
}

/// A model is asked on the surfaces of its kind.
fn check_kind(model: &TextModel, surface: &str, requested: &str) -> Result<(), SubmitError> {
    let asked = ModelKind::of_surface(surface);
    if model.kind == asked {
        return Ok(());
    }
    let endpoint = match model.kind {
        ModelKind::Embedding => "POST /v1/embeddings",
        ModelKind::Text => "POST /v1/chat/completions",
    };
    let (asked, found) = (asked.as_str(), model.kind.as_str());
    let message = format!(
        "`model`: expected a model of kind {asked}, got {requested:?}, which is of kind {found}; {endpoint} serves it"
    );
    Err(SubmitError::Invalid { field: Some("model".to_owned()), message })
}
