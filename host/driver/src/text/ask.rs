//! One text request from its body to its answer: judged, paid for in advance, served, settled.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Context, Credits, Prepared, RequestId, TextRequest, Usage, metric};
use gatehouse_runtime::{Fault, ServedBy, Version};
use gatehouse_store::Durability;
use gatehouse_tasks::{Command, Rejection as Refused};
use tokio::sync::mpsc;

use super::attempt::{Got, Round};
use super::blobs::Embedded;
use super::models::TextModel;
use super::pump::{AHEAD, Pump};
use super::{Bill, CompletionRequest, CompletionResponse, TextError};
use crate::driver::{Inner, Stage};
use crate::intake::{asked_model, may_use, refused, settle_refusal};
use crate::{Driver, SubmitError};

/// What the hold outlives the request by, so that the sweep never takes it from under a settlement.
const GRACE: Duration = Duration::from_secs(60);

/// A request's money, reserved.
pub(super) struct Held {
    pub(super) id: RequestId,
    pub(super) amount: Credits,
    pub(super) bill: Bill,
    pub(super) model: String,
}

impl Driver {
    /// Answers a text request. Runs to its end even if the caller goes away meanwhile.
    ///
    /// # Errors
    /// [`TextError`]; nothing was charged.
    pub async fn ask(&self, request: CompletionRequest) -> Result<CompletionResponse, TextError> {
        if self.inner.has_reached(Stage::Stopped) {
            return Err(SubmitError::Draining.into());
        }
        let inner = Arc::clone(&self.inner);
        let under_way = inner.enter_text();
        let running = tokio::spawn(async move { inner.ask(request, under_way).await });
        running.await.unwrap_or_else(|error| Err(SubmitError::Internal(error.to_string()).into()))
    }
}

/// Keeps a shutdown waiting for what is under way.
pub(crate) struct UnderWay(Arc<Inner>);

impl UnderWay {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self(inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.leave_text();
    }
}

impl Inner {
    async fn ask(
        self: Arc<Self>,
        mut request: CompletionRequest,
        under_way: UnderWay,
    ) -> Result<CompletionResponse, TextError> {
        let cut = self.cut(std::mem::take(&mut request.body)).await?;
        let (model, version) = self.text_model(&request, &cut.json)?;
        let cx = self.text_context(&version);
        let inquiry = TextRequest {
            surface: request.surface.to_owned(),
            body: cut.json.to_vec(),
            headers: std::mem::take(&mut request.headers),
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
            route: model.route.clone(),
        };
        let (version, prepared) = self.open(&version, &cx, inquiry).await?;
        let held = self.reserve(&request, &model, &prepared).await?;
        let streaming = prepared.streaming;
        let round = Round { version, cx, prepared, blobs: Embedded(cut.blobs), model };
        if streaming { self.stream(under_way, held, round).await } else { self.whole(held, round).await }
    }

    /// One body, however long it takes.
    async fn whole(self: Arc<Self>, held: Held, round: Round) -> Result<CompletionResponse, TextError> {
        match self.serve(&round).await.and_then(Got::whole) {
            Ok(answered) => {
                let guess = held.bill.guess(answered.output_bytes.into());
                self.settle(&held, answered.usage.unwrap_or(guess), answered.usage.is_none()).await?;
                Ok(CompletionResponse::Whole(answered.body))
            }
            Err(error) => {
                self.release(&held).await;
                Err(error)
            }
        }
    }

    /// A stream. When no account has answered within the span a client waits for its head, the client has the
    /// stream at once, and what goes on behind it is the same: accounts are tried, nothing having been sent.
    async fn stream(
        self: Arc<Self>,
        under_way: UnderWay,
        held: Held,
        round: Round,
    ) -> Result<CompletionResponse, TextError> {
        let (client, stream) = mpsc::channel(AHEAD);
        let inner = Arc::clone(&self);
        let mut serving = Box::pin(async move { inner.serve(&round).await.and_then(Got::stream) });
        tokio::select! {
            biased;
            begun = &mut serving => match begun {
                Ok(begun) => drop(tokio::spawn(Pump::new(self, held, begun, client).run(under_way))),
                Err(error) => {
                    self.release(&held).await;
                    return Err(error);
                }
            },
            () = self.clock.pause(self.config.text.head()) => drop(tokio::spawn(async move {
                match serving.await {
                    Ok(begun) => Pump::new(self, held, begun, client).run(under_way).await,
                    Err(error) => {
                        self.release(&held).await;
                        // The client may be gone; then there is nobody to tell.
                        let _ = client.send(Err(error)).await;
                        drop(under_way);
                    }
                }
            })),
        }
        Ok(CompletionResponse::Stream(stream.into()))
    }

    /// The model the body names, or the surface's own, and the version that translates for it.
    fn text_model(
        &self,
        request: &CompletionRequest,
        json: &[u8],
    ) -> Result<(Arc<TextModel>, Arc<Version>), SubmitError> {
        let asked = asked_model(None, json)?;
        let version = self.families.registry().text(request.surface);
        let default = || {
            let surfaces = &version.as_ref()?.about().surfaces;
            surfaces.iter().find(|own| own.name == request.surface)?.default_model.clone()
        };
        let asked = asked.or_else(default).ok_or_else(SubmitError::no_model)?;
        let model = self.models.find(&asked).ok_or_else(|| SubmitError::UnknownModel(asked.clone()))?;
        let version = version.ok_or_else(|| SubmitError::UnknownModel(asked.clone()))?;
        if !may_use(&request.key, &asked, &model.route.model) {
            return Err(SubmitError::ModelForbidden(asked));
        }
        Ok((Arc::clone(model), version))
    }

    fn text_context(&self, version: &Version) -> Context {
        let now = self.now();
        Context {
            now,
            seed: self.seed.next_u64(),
            task: None,
            accepted_at: now,
            deadline: now.plus(self.config.text.time_limit()),
            settings: version.settings(),
        }
    }

    async fn open(
        &self,
        version: &Arc<Version>,
        cx: &Context,
        inquiry: TextRequest,
    ) -> Result<(Arc<Version>, Prepared), SubmitError> {
        match self.families.prepare_text(version, cx.clone(), inquiry).await {
            Ok(ServedBy { by, answer: Ok(prepared) }) => Ok((by, prepared)),
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refused(refusal)),
            Err(Fault::Busy) => Err(SubmitError::Busy),
            Err(fault @ (Fault::InputTooLarge { .. } | Fault::InputTooComplex { .. })) => {
                Err(SubmitError::Invalid { field: None, message: format!("besides its media, {fault}") })
            }
            Err(fault) => Err(plugin_fault(version, &fault)),
        }
    }

    async fn reserve(
        &self,
        request: &CompletionRequest,
        model: &TextModel,
        prepared: &Prepared,
    ) -> Result<Held, SubmitError> {
        let bill = Bill::new(model.prices, prepared);
        let amount = bill.most().ok_or_else(|| {
            SubmitError::Internal(format!("the price of {:?} is more than can be counted", model.route.model))
        })?;
        let now = self.now();
        let command = Command::Hold {
            id: request.id,
            key: request.key.id.clone(),
            amount,
            unit_price: model.prices.output,
            expires: now.plus(self.longest(prepared.streaming)),
            at: now,
        };
        match self.store.execute_deferred(command).await? {
            Ok(_) => Ok(Held { id: request.id, amount, bill, model: model.route.model.clone() }),
            refused => Err(settle_refusal(refused).err().unwrap_or(SubmitError::Busy)),
        }
    }

    /// What a request can take altogether, and then some: a hold that ends before its settlement is lost money.
    fn longest(&self, streaming: bool) -> Duration {
        let text = &self.config.text;
        let streamed = if streaming { text.stream() + text.drain() } else { Duration::ZERO };
        text.time_limit() + streamed + GRACE
    }

    /// Spends what the tokens cost and gives the rest back.
    pub(super) async fn settle(&self, held: &Held, usage: Usage, estimated: bool) -> Result<(), TextError> {
        let amount = held.bill.counted(&usage, held.amount);
        for (kind, tokens) in usage.kinds() {
            metrics::counter!(metric::TOKENS, "model" => held.model.clone(), "kind" => kind)
                .increment(tokens);
        }
        let memo = memo(&held.model, &usage, estimated);
        let command = Command::Settle { id: held.id, amount, memo, at: self.now() };
        self.end_hold(held, command).await
    }

    /// Gives everything back.
    pub(super) async fn release(&self, held: &Held) {
        let command = Command::Release { id: held.id, at: self.now() };
        // What goes wrong here is told below, and the hold ends by its expiry.
        let _ = self.end_hold(held, command).await;
    }

    async fn end_hold(&self, held: &Held, command: Command) -> Result<(), TextError> {
        match self.store.execute_when_free(command, Durability::Deferred).await.map_err(SubmitError::from)? {
            Ok(_) => Ok(()),
            Err(Refused::NoHold(_)) => {
                tracing::error!(request = %held.id, "a request outlived its hold; it was not charged");
                Ok(())
            }
            Err(rejection) => {
                let why = format!("the store answered the end of {} with {rejection:?}", held.id);
                tracing::error!(request = %held.id, ?rejection, "a hold could not be resolved");
                Err(SubmitError::Internal(why).into())
            }
        }
    }
}

pub(super) fn plugin_fault(version: &Version, fault: &Fault) -> SubmitError {
    tracing::error!(?version, %fault, "plugin fault in a text request");
    SubmitError::Internal(format!("the plugin {version:?} failed"))
}

fn memo(model: &str, usage: &Usage, estimated: bool) -> String {
    let Usage { input, output, cached, cache_write } = usage;
    let mark = if estimated { ", estimated" } else { "" };
    format!("{model}: {input} in, {output} out, {cached} cached, {cache_write} cache written{mark}")
}
