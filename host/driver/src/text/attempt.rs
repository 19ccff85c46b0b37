//! Which account serves a text request: one after another, as long as the failure allows it and the
//! client has been sent nothing.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_families::{Relay, Version};
use gatehouse_model::{Answered, Context, Opened, Outage, Reply, Trouble, UnixMs};
use gatehouse_upstream::{Events, NoSlot, Opening, Place};

use super::TextError;
use super::ask::plugin_fault;
use super::blobs::Embedded;
use crate::driver::Inner;

/// What a provider may ask a client to wait at most (spec/decisions.md, "Retry hints").
const LONGEST_WAIT: u64 = 60;

/// One judged request, ready to be sent.
pub(super) struct Round<'a> {
    pub(super) version: Arc<Version>,
    pub(super) cx: Context,
    pub(super) opened: Opened,
    pub(super) blobs: Embedded,
    pub(super) provider: &'a str,
}

/// What an account answered.
pub(super) enum Got {
    Whole(Answered),
    Stream(Box<Events>, Place, Box<Relay>),
}

/// What one try came to.
enum Try {
    Got(Got),
    /// Another account may do better.
    Next(TextError),
    Over(TextError),
}

impl Inner {
    pub(super) async fn serve(&self, round: Round<'_>) -> Result<Got, TextError> {
        let mut tried: Vec<String> = vec![];
        let mut last = None;
        loop {
            let (place, slot) = match self.upstream.enter_other(round.provider, &tried) {
                Ok(entered) => entered,
                Err(none) => return Err(last.unwrap_or_else(|| self.nobody(round.provider, none))),
            };
            tried.push(place.account().to_owned());
            let idle = self.config.text.idle();
            let opening =
                self.upstream.open(slot, &round.opened.call, &round.blobs, round.cx.deadline, idle).await;
            let outcome = match opening {
                Ok(Opening::Reply(reply)) => self.read_reply(&round, &place, reply).await,
                Ok(Opening::Events(events)) => self.begin_stream(&round, place, events).await,
                Err(outage) => missed(outage),
            };
            match outcome {
                Try::Got(got) => return Ok(got),
                Try::Over(error) => return Err(error),
                Try::Next(error) => last = Some(error),
            }
        }
    }

    async fn read_reply(&self, round: &Round<'_>, place: &Place, reply: Reply) -> Try {
        let (status, pause) = (reply.status, retry_after(&reply));
        let state = round.opened.state.clone();
        let answered = self.families.answer(&round.version, round.cx.clone(), state, reply).await;
        let rejection = match answered {
            Ok(Ok(answered)) if (200..300).contains(&status) => return Try::Got(Got::Whole(answered)),
            Ok(Ok(_)) => return Try::Next(TextError::upstream("the provider did not answer")),
            Ok(Err(rejection)) => rejection,
            Err(fault) => return Try::Over(plugin_fault(&round.version, &fault).into()),
        };
        let trouble = rejection.trouble;
        if trouble == Trouble::Account {
            self.upstream.distrust(place);
        }
        let error = TextError::Rejected { trouble, message: rejection.message, retry_after: pause };
        match trouble {
            Trouble::RateLimited | Trouble::Account => Try::Next(error),
            // An answer that was made and does not read has been paid for: it is not asked for twice.
            Trouble::Upstream if !(200..300).contains(&status) => Try::Next(error),
            _ => Try::Over(error),
        }
    }

    async fn begin_stream(&self, round: &Round<'_>, place: Place, events: Box<Events>) -> Try {
        let state = round.opened.state.clone();
        match self.families.relay(&round.version, round.cx.clone(), state).await {
            Ok(relay) => Try::Got(Got::Stream(events, place, Box::new(relay))),
            Err(gatehouse_families::Fault::Busy) => Try::Over(crate::IntakeError::Busy.into()),
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
            Try::Over(crate::IntakeError::Internal("a plugin's call was refused".to_owned()).into())
        }
    }
}

fn wait(due: UnixMs, now: UnixMs) -> Duration {
    due.since(now).clamp(Duration::from_secs(1), Duration::from_secs(LONGEST_WAIT))
}

fn retry_after(reply: &Reply) -> Option<Duration> {
    let seconds: u64 = reply.header("retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.clamp(1, LONGEST_WAIT)))
}
