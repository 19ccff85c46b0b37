//! How the provider answers text requests. Plain data of a plan.

use std::collections::VecDeque;

use crate::random::Random;

/// What a simulated provider of texts speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Messages,
    Chat,
}

impl Protocol {
    /// Its name in the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
        }
    }
}

/// How one text request is answered. With a number of events, a body that is not a stream breaks off in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextOutcome {
    Whole,
    /// Whole, over so many milliseconds.
    Slowly(u64),
    /// Hangs up after so many events.
    Cut(usize),
    /// Ends in order after so many events, without the last one.
    Close(usize),
    /// Sends nothing more after so many events.
    Stall(usize),
    /// Reads the request and hangs up.
    Lost,
    /// Answers with bytes that are not JSON.
    Garbage,
    /// 429, with `Retry-After` in seconds when there is one.
    TooMany(Option<u64>),
    /// An error of this status.
    Error(u16),
}

impl TextOutcome {
    pub(crate) fn any(random: &Random) -> VecDeque<Self> {
        let mut all = VecDeque::new();
        while random.once_in(3) && all.len() < 3 {
            all.push_back(match random.below(3) {
                0 => Self::Error(503),
                _ => Self::TooMany([None, Some(1), Some(30)][random.below(3)]),
            });
        }
        all.push_back(match random.below(12) {
            0 | 1 => Self::Cut(random.below(8)),
            2 => Self::Close(random.below(8)),
            3 => Self::Stall(random.below(8)),
            4 => Self::Lost,
            5 => Self::Garbage,
            6 => Self::Error([400, 401, 500][random.below(3)]),
            7 | 8 => Self::Slowly(random.below(30_000) as u64),
            _ => Self::Whole,
        });
        all
    }

    /// Whether another account may be tried where the answer delivers nothing: it has come to its end, and says no more.
    pub(crate) fn has_ended(self) -> bool {
        matches!(self, Self::TooMany(_) | Self::Error(_) | Self::Garbage | Self::Close(_))
    }

    /// Whether everything was generated.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::Slowly(_))
    }

    /// Whether anything must be paid: for a stream that breaks off, once it has delivered text.
    pub(crate) fn delivers(self, protocol: Protocol, streaming: bool) -> bool {
        let begins = match protocol {
            Protocol::Messages => 4,
            Protocol::Chat => 3,
        };
        let cut = matches!(self, Self::Cut(_) | Self::Close(_) | Self::Stall(_));
        self.is_whole() || (cut && streaming && self.events() >= begins)
    }

    /// Events up to where it breaks off.
    pub(crate) fn events(self) -> usize {
        match self {
            Self::Cut(events) | Self::Close(events) | Self::Stall(events) => events,
            _ => usize::MAX,
        }
    }
}
