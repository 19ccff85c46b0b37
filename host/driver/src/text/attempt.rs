//! One call of a text request, and what its outcome means for the account, for its target and for the others (`tried_targets`). The
//! client has no event until an account has answered, though perhaps the head of a stream and keep-alives. Media of a
//! request that is answered at once are sent from memory.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use gatehouse_media::NewBlob;
use gatehouse_model::{
    Answered, BlobId, Body, Call, Context, Framing, Obstacle, Outage, Pause, Prepared, Reply, Span, Sse,
    TextFailure, UnixMs,
};
use gatehouse_runtime::{Fault, Half, RequestInstance, Version};
use gatehouse_upstream::{
    AccountPermit, Blobs, CallPermit, Claimant, NoPermit, OpenBlob, Opening, retry_after,
};

use crate::config::tables::Tables;
use crate::errors::SubmitError;
use crate::models::table::{ModelKind, TextModel};
use crate::request_report::{RequestReport, plugin_span};
use crate::served::Served;
use crate::shared::Shared;
use crate::text::api::TextError;
use crate::text::dialect::DialectRun;
use crate::text::hold::{Holds, TextHold};
use crate::text::left::Produced;
use crate::text::opening::{Batches, EventSource, NoStream, OpenStream};
use crate::text::pump::Client;
use crate::text::translation::{Source, Translator};
use crate::text::tried_targets::{TriedTargets, is_over};

/// The longest pause, in seconds, that a client is asked for (spec/decisions.md, "Retry hints").
const MAX_RETRY_AFTER_S: u64 = 60;

const TOO_MANY_VECTORS: &str = "the vectors of so many inputs are more than this gateway takes in one answer: ask for fewer \
                                inputs at a time, or for `encoding_format` `base64`";

/// One request, ready to be sent to one of its targets.
pub(super) struct TextRun {
    /// In whose name.
    pub(super) claimant: Claimant,
    pub(super) version: Arc<Version>,
    pub(super) cx: Context,
    pub(super) prepared: Prepared,
    /// The instance that prepared it, for the first answer; a stream's permit.
    pub(super) instance: Option<Box<RequestInstance>>,
    /// Stands between it and a provider that speaks a dialect.
    pub(super) dialect: Option<DialectRun>,
    pub(super) blobs: RequestBlobs,
    pub(super) model: Arc<TextModel>,
    /// The target of the model that it is translated for.
    pub(super) at: usize,
    /// What it is translated from.
    pub(super) source: Source,
    pub(super) targets: TriedTargets,
    pub(super) held: Arc<TextHold>,
    pub(super) report: RequestReport,
    /// The call under way, if the request is traced; that of a stream lasts as long.
    pub(super) span: Option<Span>,
    /// The configuration of the request; `model` is one of its models.
    pub(super) tables: Arc<Tables>,
    /// A response is made, which says when it was completed.
    pub(super) is_response: bool,
    /// The client that waits for the answer; batches of a stream go to it.
    pub(super) client: Client,
}

impl TextRun {
    /// What its provider is asked, and how it frames a stream.
    fn call(&self) -> (&Call, Framing) {
        match &self.dialect {
            Some(dialect) if self.prepared.streaming => (&dialect.call, dialect.framing),
            Some(dialect) => (&dialect.call, Framing::Whole),
            None => (&self.prepared.call, Framing::Sse),
        }
    }
}

/// The media cut out of the request's body, in memory until they are sent on.
pub(crate) struct RequestBlobs(pub(crate) Vec<NewBlob>);

impl Blobs for RequestBlobs {
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>> {
        let found = self.0.iter().find(|blob| blob.id == id).map(|blob| OpenBlob {
            mime: blob.facts.mime.clone(),
            length: blob.bytes.len() as u64,
            body: stream::iter([Ok(blob.bytes.clone())]).boxed(),
        });
        Box::pin(async move { Ok(found) })
    }

    fn save<'a>(&'a self, _: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>> {
        Box::pin(async { Err(io::Error::other("an answer of this kind is not kept")) })
    }
}

/// What an account answered.
pub(super) enum ProviderAnswer {
    Whole(Answered),
    Stream(OpenStream),
}

impl ProviderAnswer {
    pub(super) fn into_whole(self) -> Result<Answered, TextError> {
        match self {
            Self::Whole(answered) => Ok(answered),
            Self::Stream(_) => {
                Err(TextError::upstream("the provider answered with a stream, which was not asked for"))
            }
        }
    }

    pub(super) fn into_stream(self) -> Result<OpenStream, TextError> {
        match self {
            Self::Stream(stream) => Ok(stream),
            Self::Whole(_) => {
                Err(TextError::upstream("the provider answered with one body, which was not asked for"))
            }
        }
    }
}

/// The outcome of a try with one account.
pub(super) enum Attempt {
    Answered(ProviderAnswer),
    /// Another account may do better, of the same target or of another.
    TryNext(TextError),
    /// The same, where this one would refuse the request again: it is more than the account takes within a time.
    TryOther(TextError),
    /// Another target may do better. Its provider may have worked on the call, so no other account of it is asked.
    NextTarget(TextError),
    Failed(TextError),
    /// The client left; what the account had produced, if it was asked.
    Left(Option<Produced>),
}

/// Calls providers for texts.
pub(crate) struct TextCalls {
    pub(crate) shared: Arc<Shared>,
    pub(crate) served: Arc<Served>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) translator: Arc<Translator>,
}

impl TextCalls {
    /// One call, and what it is answered with. The client of a stream may leave meanwhile.
    pub(super) async fn try_account(
        &self,
        run: &mut TextRun,
        mut permit: AccountPermit,
        slot: CallPermit,
    ) -> Attempt {
        // The wait for the account may have been long.
        if let Err(error) = self.shared.store.until_it_may_begin().await {
            return Attempt::Failed(error.into());
        }
        let progress = slot.progress();
        let target = &run.model.targets[run.at].route;
        run.span = run.report.begin_call(run.model.kind.operation(), &target.upstream, &slot);
        let mut patience = self.patience(run);
        let opening = {
            let idle = self.shared.config.text.idle();
            let deadline = self.deadline_of_text(&run.cx);
            let (call, framing) = run.call();
            let opening = slot.open(call, &run.blobs, deadline, framing, idle);
            tokio::select! {
                opening = opening => opening.map_err(NoStream::Outage),
                () = self.holds.is_given_up(&run.client, &mut permit), if run.prepared.streaming => {
                    // Whether the provider has read it is not known: its input is paid.
                    return Attempt::Left(progress.is_sent().then(Produced::default));
                }
                () = is_over(&mut patience) => Err(NoStream::Silence),
            }
        };
        run.report.first_byte(progress.first_byte());
        match opening {
            Ok(Opening::Reply(reply)) => self.read_reply(run, permit, reply).await,
            Ok(Opening::Events(events)) if !run.prepared.streaming => {
                let time_limit = self.shared.clock.pause_until(self.deadline_of_text(&run.cx));
                let listed = tokio::select! {
                    listed = events.listed() => listed.map_err(NoStream::Outage),
                    () = time_limit => Err(NoStream::Outage(Outage::Timeout)),
                    () = is_over(&mut patience) => Err(NoStream::Silence),
                };
                match listed {
                    Ok(reply) => self.read_reply(run, permit, reply).await,
                    Err(no_stream) => self.no_stream(run, &permit, true, no_stream, None),
                }
            }
            Ok(Opening::Events(events)) => {
                let pause = asked_pause(events.retry_after(self.shared.now()));
                self.relay(run, permit, EventSource::Events(events), pause, patience).await
            }
            Err(no_stream) => self.no_stream(run, &permit, progress.is_sent(), no_stream, None),
        }
    }

    /// Nothing came that the client could get; whether the call was `sent`, and the pause that the head of an answer asked for.
    fn no_stream(
        &self,
        run: &TextRun,
        permit: &AccountPermit,
        sent: bool,
        no_stream: NoStream,
        retry_after: Option<Duration>,
    ) -> Attempt {
        match no_stream {
            NoStream::Failure(failure) => failed_attempt(permit, failure, retry_after, 200),
            NoStream::Fault(version, Fault::Busy) => {
                tracing::debug!(?version, "no instance for the answer of a text");
                Attempt::Failed(SubmitError::Busy.into())
            }
            NoStream::Fault(version, fault) => fault_attempt(&version, &fault),
            NoStream::Silence => {
                if run.prepared.streaming {
                    permit.report_silence();
                } else {
                    permit.report_no_answer();
                }
                if sent {
                    self.give_up(run, permit, "was silent for too long");
                }
                Attempt::NextTarget(TextError::Timeout)
            }
            NoStream::Outage(outage) => {
                if sent && matches!(outage, Outage::Timeout | Outage::Broken) {
                    self.give_up(run, permit, "gave no answer");
                }
                outage_attempt(outage, run.model.kind)
            }
            NoStream::Left(produced) => Attempt::Left(Some(produced)),
        }
    }

    async fn read_reply(&self, run: &mut TextRun, permit: AccountPermit, reply: Reply) -> Attempt {
        let status = reply.status;
        let retry_after = asked_pause(retry_after(&reply, self.shared.now()));
        let is_success = (200..300).contains(&status);
        let reply = match self.read_by_dialect(run, reply).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(failure)) => return failed_attempt(&permit, failure, retry_after, status),
            Err(attempt) => return attempt,
        };
        let state = run.prepared.state.clone();
        // A provider that was asked for a stream and answers whole is relayed once the plugin takes the answer.
        let as_event = (is_success && run.prepared.streaming).then(|| text(&reply.body)).flatten();
        let span = plugin_span(&run.report, "plugin answer", &run.version);
        let answered = self
            .shared
            .plugins
            .answer(&run.version, run.cx.clone(), state, reply, run.instance.as_deref_mut())
            .await;
        drop(span);
        let failure = match answered {
            Ok(Ok(answered)) if is_success => {
                return match as_event {
                    Some(data) => {
                        let source = EventSource::Body(Some(Sse { event: None, data }));
                        self.relay(run, permit, source, retry_after, None).await
                    }
                    None => Attempt::Answered(ProviderAnswer::Whole(answered)),
                };
            }
            Ok(Ok(_)) => return Attempt::TryNext(TextError::upstream("the provider did not answer")),
            Ok(Err(failure)) => failure,
            Err(fault) => return fault_attempt(&run.version, &fault),
        };
        failed_attempt(&permit, failure, retry_after, status)
    }

    /// The reply as its text family reads it, or the dialect's failure.
    async fn read_by_dialect(
        &self,
        run: &mut TextRun,
        reply: Reply,
    ) -> Result<Result<Reply, TextFailure>, Attempt> {
        let Some(dialect) = &mut run.dialect else { return Ok(Ok(reply)) };
        let read = self.translator.read_dialect(dialect, reply).await;
        match read.map_err(|(version, fault)| fault_attempt(&version, &fault))? {
            Ok(reply) => Ok(Ok(reply)),
            Err(failure) => {
                let TextRun { version, cx, prepared, .. } = run;
                Ok(Err(self.translator.in_clients_words(version, cx, &prepared.state, failure).await))
            }
        }
    }

    /// A stream, once something of it is for the client: before that another account may answer as well.
    async fn relay(
        &self,
        run: &mut TextRun,
        permit: AccountPermit,
        source: EventSource,
        retry_after: Option<Duration>,
        patience: Option<Pause>,
    ) -> Attempt {
        let state = run.prepared.state.clone();
        let (plugins, instance) = (&self.shared.plugins, run.instance.take());
        let relay = match plugins.relay(Half::Text, &run.version, run.cx.clone(), state, instance) {
            Ok(relay) => Box::new(relay),
            Err(Fault::Busy) => return Attempt::Failed(SubmitError::Busy.into()),
            Err(fault) => return Attempt::Failed(plugin_fault(&run.version, &fault).into()),
        };
        let is_translated = matches!(source, EventSource::Events(_));
        let reader = match run.dialect.as_mut().filter(|_| is_translated) {
            Some(dialect) => match self.translator.frame_reader(dialect) {
                Ok(reader) => Some(reader),
                Err(Fault::Busy) => return Attempt::Failed(SubmitError::Busy.into()),
                Err(fault) => return Attempt::Failed(plugin_fault(&dialect.version, &fault).into()),
            },
            None => None,
        };
        let batches = Batches::new(source, reader, relay);
        let mut stream = OpenStream { batches, account_permit: permit, span: run.span.take() };
        let due = run.cx.accepted_at.plus(self.shared.config.text.head());
        let deadline = self.deadline_of_text(&run.cx);
        let begun = self.begin_stream(&mut stream, &run.client, due, deadline, patience).await;
        if begun.is_err() {
            // Its failure is told with that of the call.
            run.span = stream.span.take();
        }
        match begun {
            Ok(()) => Attempt::Answered(ProviderAnswer::Stream(stream)),
            Err(NoStream::Failure(failure)) if stream.batches.by_reader => {
                let TextRun { version, cx, prepared, .. } = &*run;
                let failure = self.translator.in_clients_words(version, cx, &prepared.state, failure).await;
                failed_attempt(&stream.account_permit, failure, retry_after, 200)
            }
            Err(no_stream) => self.no_stream(run, &stream.account_permit, true, no_stream, retry_after),
        }
    }

    /// Until when a whole answer, or the first content of a stream, may come: what the clock was set forward by is time that
    /// the request has not had.
    pub(super) fn deadline_of_text(&self, cx: &Context) -> UnixMs {
        cx.deadline.plus(self.shared.clock.skipped(cx.now))
    }
}

/// No account of the provider takes the request.
pub(crate) fn unavailable(provider: &str, none: NoPermit, now: UnixMs) -> TextError {
    let retry_after = match none {
        NoPermit::Until(due) => asked_pause(Some(due.since(now))),
        NoPermit::Busy => None,
        NoPermit::Unknown => {
            tracing::error!(provider, "a model's provider has no account configured");
            None
        }
    };
    TextError::Unavailable { retry_after }
}

/// What a failure means for the account and for the next one. Where its status says so, the host has told the account already.
fn failed_attempt(
    permit: &AccountPermit,
    failure: TextFailure,
    retry_after: Option<Duration>,
    status: u16,
) -> Attempt {
    let TextFailure { obstacle, message, field, retry_after_ms } = failure;
    // What only the body says, the host has not told the account.
    let said = retry_after_ms.map(|ms| Duration::from_millis(ms.into()));
    let retry_after = retry_after.or_else(|| asked_pause(said));
    match (obstacle, status) {
        (Obstacle::Account, 401 | 402) => {}
        (Obstacle::Account, _) => permit.report_failure(),
        (Obstacle::RateLimited, status) if said.is_some() || (200..300).contains(&status) => {
            permit.report_rate_limit(retry_after);
        }
        // A status of its own that asks for no pause is about this request: smaller ones are taken.
        (Obstacle::RateLimited, status) if status != 429 && retry_after.is_some() => {
            permit.report_rate_limit(retry_after);
        }
        _ => {}
    }
    let is_too_much = obstacle == Obstacle::RateLimited && (400..500).contains(&status) && status != 429;
    let error = TextError::Rejected { obstacle, message, field, retry_after };
    match obstacle {
        Obstacle::RateLimited if is_too_much && retry_after.is_none() => Attempt::TryOther(error),
        // The client has received nothing yet, whatever the status was, so another account may answer.
        Obstacle::RateLimited | Obstacle::Account | Obstacle::Upstream => Attempt::TryNext(error),
        _ => Attempt::Failed(error),
    }
}

/// The pause that a provider asks for, as clients are told it.
pub(crate) fn asked_pause(asked: Option<Duration>) -> Option<Duration> {
    asked.map(|pause| pause.clamp(Duration::from_secs(1), Duration::from_secs(MAX_RETRY_AFTER_S)))
}

/// Logs a plugin's own fault in a text request.
pub(crate) fn plugin_fault(version: &Version, fault: &Fault) -> SubmitError {
    tracing::error!(?version, %fault, "plugin fault in a text request");
    SubmitError::Internal(format!("the plugin {version:?} failed"))
}

/// The same, of a call that was handed what the provider has answered: where that is more than any plugin could work
/// through, the provider is to blame.
pub(crate) fn fault_of_answer(version: &Version, fault: &Fault) -> TextError {
    if fault.is_of_input() {
        tracing::warn!(?version, %fault, "the provider's answer is more than its plugin can work through");
        return TextError::upstream("the provider's answer is too large to be translated");
    }
    plugin_fault(version, fault).into()
}

/// What a plugin's fault at a provider's answer means: an answer that no plugin could work through is the provider's.
fn fault_attempt(version: &Version, fault: &Fault) -> Attempt {
    let error = fault_of_answer(version, fault);
    if fault.is_of_input() { Attempt::NextTarget(error) } else { Attempt::Failed(error) }
}

/// Nothing sent: another account may answer. Sent: the provider may have answered and billed it, so the host does
/// not ask it again.
fn outage_attempt(outage: Outage, kind: ModelKind) -> Attempt {
    match outage {
        Outage::Unreachable => Attempt::TryNext(TextError::upstream("the provider cannot be reached")),
        Outage::Timeout => Attempt::NextTarget(TextError::Timeout),
        Outage::Broken => Attempt::NextTarget(TextError::upstream("the provider broke off")),
        // The client chose how many vectors come, and would get as many again.
        Outage::TooLarge if kind == ModelKind::Embedding => Attempt::Failed(TextError::Rejected {
            obstacle: Obstacle::TooLarge,
            message: TOO_MANY_VECTORS.to_owned(),
            field: None,
            retry_after: None,
        }),
        Outage::TooLarge => Attempt::Failed(TextError::upstream("the provider's answer is too large")),
        Outage::Refused => {
            Attempt::Failed(SubmitError::Internal("a plugin's call was refused".to_owned()).into())
        }
    }
}

/// A reply's body, unless it was kept as a blob.
fn text(body: &Body) -> Option<String> {
    match body {
        Body::Inline(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Body::Blob(_) => None,
    }
}
