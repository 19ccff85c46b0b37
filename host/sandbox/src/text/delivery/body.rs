//! A reply's body that does one step after the other, and knows whether it was heard to its end.

use std::collections::VecDeque;
use std::io;

use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::steps::Step;
use crate::common::clock;
use crate::common::connection::ResetSwitch;
use crate::common::server::Body;
use crate::text::provider::RequestGuard;

struct Speaker {
    steps: VecDeque<Step>,
    guard: RequestGuard,
    reset_switch: ResetSwitch,
}

/// The body. When it is dropped before its last step, the client has left.
pub(crate) fn body(steps: Vec<Step>, guard: RequestGuard, reset_switch: ResetSwitch) -> Body {
    let speaker = Speaker { steps: steps.into(), guard, reset_switch };
    let frames = stream::unfold(speaker, |mut speaker| async {
        let frame = speaker.next().await?;
        Some((frame, speaker))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

impl Speaker {
    async fn next(&mut self) -> Option<io::Result<Frame<bytes::Bytes>>> {
        loop {
            let Some(step) = self.steps.pop_front() else {
                self.guard.over();
                return None;
            };
            // The server writes out what it has only when it finds nothing more to do.
            tokio::task::yield_now().await;
            match step {
                Step::Abort => {
                    self.guard.over();
                    return Some(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose")));
                }
                Step::Bytes(bytes) => {
                    self.guard.sent(bytes.len());
                    // A body of a known length is not asked again after its last byte.
                    if self.steps.is_empty() {
                        self.guard.over();
                    }
                    return Some(Ok(Frame::data(bytes)));
                }
                Step::Hold => self.guard.provider.clone().hold().await,
                Step::Pause(span) => clock::pause(span).await,
                Step::Reset(bytes) => {
                    self.guard.over();
                    self.reset_switch.arm();
                    return Some(Ok(Frame::data(bytes)));
                }
            }
        }
    }
}
