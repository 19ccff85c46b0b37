//! The body of a reply that runs its steps one after the other, and records whether the client took all of it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::steps::Step;
use crate::common::clock;
use crate::common::connection::ResetSwitch;
use crate::common::server::{Body, closed};
use crate::text::provider::RequestGuard;

/// Between two comment lines of an answer that is held.
const KEEP_ALIVE: Duration = Duration::from_millis(50);

type Held = Pin<Box<dyn Future<Output = ()> + Send>>;

struct StreamBodyState {
    steps: VecDeque<Step>,
    guard: RequestGuard,
    reset_switch: ResetSwitch,
    /// Ends when an answer that keeps its client alive is released.
    held: Option<Held>,
}

/// The body. A drop before its last step means that the client left.
pub(crate) fn stream_body(steps: Vec<Step>, guard: RequestGuard, reset_switch: ResetSwitch) -> Body {
    let state = StreamBodyState { steps: steps.into(), guard, reset_switch, held: None };
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
                Step::KeepAlives(line) => {
                    if self.is_held_on().await {
                        self.guard.sent(line.len());
                        self.steps.push_front(Step::KeepAlives(line.clone()));
                        return Some(Ok(Frame::data(line)));
                    }
                }
                Step::Pause(span) => clock::pause(span).await,
                Step::Reset(bytes) => {
                    self.guard.finish();
                    self.reset_switch.arm();
                    return Some(Ok(Frame::data(bytes)));
                }
            }
        }
    }

    /// Waits for the release of held answers until the next comment line is due.
    async fn is_held_on(&mut self) -> bool {
        let provider = &self.guard.provider;
        let held = self.held.get_or_insert_with(|| {
            let provider = Arc::clone(provider);
            let held: Held = Box::pin(async move { provider.hold().await });
            held
        });
        tokio::select! {
            biased;
            () = held => {}
            () = clock::pause(KEEP_ALIVE) => return true,
        }
        self.held = None;
        false
    }
}
