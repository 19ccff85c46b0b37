//! Which account serves a text request: one after another, as long as the failure allows it. The client has
//! been sent no event until one has answered, though perhaps the head of a stream and keep-alives.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Answered, Body, Context, Obstacle, Outage, Prepared, Reply, Sse, UnixMs};
use gatehouse_runtime::{Relay, Version};
use gatehouse_upstream::{Events, NoSlot, Opening, Place};

use super::TextError;
use super::ask::plugin_fault;
use super::blobs::Embedded;
use super::models::TextModel;
use crate::driver::Inner;

/// What a provider may ask a client to wait at most (spec/decisions.md, "Retry hints").
const LONGEST_WAIT: u64 = 60;

/// One judged request, ready to be sent.
pub(super) struct Round {
    pub(super) version: Arc<Version>,
    pub(super) cx: Context,
    pub(super) prepared: Prepared,
    pub(super) blobs: Embedded,
    pub(super) model: Arc<TextModel>,
}

/// What an account answered.
pub(super) enum Got {
    Whole(Answered),
    Stream(Begun),
}

/// A stream whose account has answered, and which nobody has read.
pub(super) struct Begun {
    pub(super) source: Source,
    pub(super) place: Place,
    pub(super) relay: Box<Relay>,
}

/// What a stream's events come out of.
pub(super) enum Source {
    Events(Box<Events>),
    /// A provider that was asked for a stream and answered whole: all of it is one event.
    Body(Option<Sse>),
}

impl Got {
    pub(super) fn whole(self) -> Result<Answered, TextError> {
        match self {
            Self::Whole(answered) => Ok(answered),
            Self::Stream(_) => {
                Err(TextError::upstream("the provider answered with a stream, which was not asked for"))
            }
        }
    }

    pub(super) fn stream(self) -> Result<Begun, TextError> {
        match self {
            Self::Stream(begun) => Ok(begun),
            Self::Whole(_) => {
                Err(TextError::upstream("the provider answered with one body, which was not asked for"))
            }
        }
    }
}

impl Source {
    /// The next events; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Sse>>, Outage> {
        match self {
            Self::Events(events) => events.next().await,
            Self::Body(body) => Ok(body.take().map(|body| vec![body])),
        }
    }
}

/// What one try came to.
enum Try {
    Got(Got),
    /// Another account may do better.
    Next(TextError),
    Over(TextError),
}

impl Inner {
    pub(super) async fn serve(&self, round: &Round) -> Result<Got, TextError> {
        let provider = round.model.route.provider.as_str();
        let mut tried: Vec<String> = vec![];
        let mut last = None;
        loop {
            let (place, slot) = match self.upstream.enter_other(provider, &tried) {
                Ok(entered) => entered,
                Err(none) => return Err(last.unwrap_or_else(|| self.nobody(provider, none))),
            };
            tried.push(place.account().to_owned());
            let idle = self.config.text.idle();
            let opening =
                self.upstream.open(slot, &round.prepared.call, &round.blobs, round.cx.deadline, idle).await;
            let outcome = match opening {
                Ok(Opening::Reply(reply)) => self.read_reply(round, place, reply).await,
                Ok(Opening::Events(events)) => self.begin(round, place, Source::Events(events)).await,
                Err(outage) => missed(outage),
            };
            match outcome {
                Try::Got(got) => return Ok(got),
                Try::Over(error) => return Err(error),
                Try::Next(error) => last = Some(error),
            }
        }
    }

    async fn read_reply(&self, round: &Round, place: Place, reply: Reply) -> Try {
        let (status, pause) = (reply.status, retry_after(&reply));
        let good = (200..300).contains(&status);
        let state = round.prepared.state.clone();
        // Whoever was asked for a stream and answers whole is relayed once the answer is known to be one.
        let folded = (good && round.prepared.streaming).then(|| text(&reply.body)).flatten();
        let answered = self.families.answer(&round.version, round.cx.clone(), state, reply).await;
        let rejection = match answered {
            Ok(Ok(answered)) if good => {
                return match folded {
                    Some(data) => {
                        self.begin(round, place, Source::Body(Some(Sse { event: None, data }))).await
                    }
                    None => Try::Got(Got::Whole(answered)),
                };
            }
            Ok(Ok(_)) => return Try::Next(TextError::upstream("the provider did not answer")),
            Ok(Err(rejection)) => rejection,
            Err(fault) => return Try::Over(plugin_fault(&round.version, &fault).into()),
        };
        let obstacle = rejection.obstacle;
        if obstacle == Obstacle::Account {
            self.upstream.distrust(&place);
        }
        let error = TextError::Rejected { obstacle, message: rejection.message, retry_after: pause };
        match obstacle {
            Obstacle::RateLimited | Obstacle::Account => Try::Next(error),
            // An answer that was made and does not read has been paid for: it is not asked for twice.
            Obstacle::Upstream if !good => Try::Next(error),
            _ => Try::Over(error),
        }
    }

    async fn begin(&self, round: &Round, place: Place, source: Source) -> Try {
        let state = round.prepared.state.clone();
        match self.families.relay(&round.version, round.cx.clone(), state).await {
            Ok(relay) => Try::Got(Got::Stream(Begun { source, place, relay: Box::new(relay) })),
            Err(gatehouse_runtime::Fault::Busy) => Try::Over(crate::SubmitError::Busy.into()),
            Err(fault) => Try::Over(plugin_fault(&round.version, &fault).into()),
        }
    }

    fn nobody(&self, provider: &str, none: NoSlot) -> TextError {
        let retry_after = match none {
            NoSlot::Until(due) => Some(wait(due, self.now())),
            NoSlot::Busy => None,
            NoSlot::Unknown => {
                tracing::error!(provider, "a text model's provider has no account configured");
                None
            }
        };
        TextError::Unavailable { retry_after }
    }
}

/// Nothing sent: another account may answer. Sent: it may have been answered and billed, so it is not
/// asked again.
fn missed(outage: Outage) -> Try {
    match outage {
        Outage::Unreachable => Try::Next(TextError::upstream("the provider cannot be reached")),
        Outage::Timeout => Try::Over(TextError::Timeout),
        Outage::Broken => Try::Over(TextError::upstream("the provider broke off")),
        Outage::TooLarge => Try::Over(TextError::upstream("the provider's answer is too large")),
        Outage::Refused => {
            Try::Over(crate::SubmitError::Internal("a plugin's call was refused".to_owned()).into())
        }
    }
}

/// A reply's body, unless it was put aside as a file.
fn text(body: &Body) -> Option<String> {
    match body {
        Body::Inline(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Body::Blob(_) => None,
    }
}

fn wait(due: UnixMs, now: UnixMs) -> Duration {
    due.since(now).clamp(Duration::from_secs(1), Duration::from_secs(LONGEST_WAIT))
}

fn retry_after(reply: &Reply) -> Option<Duration> {
    let seconds: u64 = reply.header("retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.clamp(1, LONGEST_WAIT)))
}
