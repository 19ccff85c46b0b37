//! Hands the images of an answer over. The provider keeps no task that could be asked again, so what stays out of
//! reach after a few tries is left out: the client gets the other images and pays for them alone.

use gatehouse_sdk::{Charge, Context, Event, Failure, Outcome, Stage, Step, UnixMs, log, pace};
use serde_json::json;

use crate::params::MODEL;
use crate::provider::POLICY;
use crate::state::{Delivery, Image, State};

/// `images` are at least one and at most `asked`.
pub(crate) fn begin(cx: &Context, asked: u32, images: Vec<Image>) -> Step<State> {
    Delivery { asked, images, losses: 0, wake: cx.now }.hand_over()
}

pub(crate) fn step(cx: &Context, delivery: Delivery, event: Event) -> Step<State> {
    match event {
        Event::Timer => delivery.hand_over(),
        Event::Lost((source, reason)) => delivery.lost(cx, &source, &reason),
        // The images are made, and nearly there.
        Event::Cancel(_) => {
            let wake = delivery.wake.max(cx.now);
            delivery.wait(wake)
        }
        other => delivery.fail(POLICY.unexpected(&other)),
    }
}

impl Delivery {
    /// All links in one element, as the specification's result has an array for them.
    fn hand_over(self) -> Step<State> {
        let links: Vec<String> = (0..self.images.len()).map(|index| format!("media:{index}")).collect();
        let outcome = Outcome::new(json!({"images": [{"url": links, "expires_at": "expires:0"}]}));
        let outcome = self
            .images
            .iter()
            .fold(outcome, |outcome, image| outcome.product(&image.source, Some(&image.mime)));
        let made = u32::try_from(self.images.len()).unwrap_or(self.asked);
        let outcome = if made < self.asked {
            outcome.settle(Charge::keys([MODEL]).times(made.into()))
        } else {
            outcome
        };
        Step::done(State::Copying(self), outcome)
    }

    fn lost(mut self, cx: &Context, source: &str, reason: &str) -> Step<State> {
        self.losses += 1;
        log::warn("a finished image could not be copied", &[("reason", reason)]);
        if self.losses <= POLICY.losses {
            let wake = pace::backoff(cx, self.losses);
            return self.wait(wake);
        }
        self.images.retain(|image| image.source != source);
        if self.images.is_empty() {
            return self.fail(Failure::upstream(POLICY.uncopied));
        }
        self.hand_over()
    }

    fn wait(mut self, wake: UnixMs) -> Step<State> {
        self.wake = wake;
        Step::wait(State::Copying(self), wake).stage(Stage::Processing)
    }

    fn fail(self, failure: Failure) -> Step<State> {
        Step::fail(State::Copying(self), failure).stage(Stage::Processing)
    }
}
