//! The body of a reply that runs its steps one after the other, and records whether the client took all of it.

use std::collections::VecDeque;
use std::io;

use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::steps::Step;
use crate::common::clock;
use crate::common::connection::ResetSwitch;
use crate::common::server::{Body, closed};
use crate::text::provider::RequestGuard;

struct StreamBodyState {
    steps: VecDeque<Step>,
    guard: RequestGuard,
    reset_switch: ResetSwitch,
}

/// The body. A drop before its last step means that the client left.
pub(crate) fn stream_body(steps: Vec<Step>, guard: RequestGuard, reset_switch: ResetSwitch) -> Body {
    let state = StreamBodyState { steps: steps.into(), guard, reset_switch };
    let frames = stream::unfold(state, |mut state| async {
        let frame = state.next().await?;
        Some((frame, state))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

impl StreamBodyState {
    async fn next(&mut self) -> Option<io::Result<Frame<bytes::Bytes>>> {
        loop {
            let Some(step) = self.steps.pop_front() else {
                self.guard.finish();
                return None;
            };
            // The server writes its buffer only when it has nothing else to do.
            tokio::task::yield_now().await;
            match step {
                Step::Abort => {
                    self.guard.finish();
                    return Some(Err(closed()));
                }
                Step::Bytes(bytes) => {
                    self.guard.sent(bytes.len());
                    // The server does not poll a body of known length after its last byte.
                    if self.steps.is_empty() {
                        self.guard.finish();
                    }
                    return Some(Ok(Frame::data(bytes)));
                }
                Step::Hold => self.guard.provider.clone().hold().await,
                Step::Pause(span) => clock::pause(span).await,
                Step::Reset(bytes) => {
                    self.guard.finish();
                    self.reset_switch.arm();
                    return Some(Ok(Frame::data(bytes)));
                }
            }
        }
    }
}
