//! A reply's body that does one step after the other, and knows whether it was heard to its end.

use std::collections::VecDeque;
use std::io;

use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::desk::Visit;
use super::trouble::Step;
use crate::clock;
use crate::line::Trip;
use crate::server::Body;

struct Speaker {
    steps: VecDeque<Step>,
    visit: Visit,
    trip: Trip,
}

/// The body. When it is dropped before its last step, the client has left.
pub(super) fn body(steps: Vec<Step>, visit: Visit, trip: Trip) -> Body {
    let speaker = Speaker { steps: steps.into(), visit, trip };
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
                self.visit.over();
                return None;
            };
            // The server writes out what it has only when it finds nothing more to do.
            tokio::task::yield_now().await;
            match step {
                Step::Abort => {
                    self.visit.over();
                    return Some(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose")));
                }
                Step::Bytes(bytes) => {
                    self.visit.sent(bytes.len());
                    // A body of a known length is not asked again after its last byte.
                    if self.steps.is_empty() {
                        self.visit.over();
                    }
                    return Some(Ok(Frame::data(bytes)));
                }
                Step::Hold => self.visit.desk.clone().hold().await,
                Step::Pause(span) => clock::pause(span).await,
                Step::Reset(bytes) => {
                    self.visit.over();
                    self.trip.arm();
                    return Some(Ok(Frame::data(bytes)));
                }
            }
        }
    }
}
