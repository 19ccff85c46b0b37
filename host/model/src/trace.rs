//! The place in a trace at which something goes on: W3C Trace Context, as its headers spell it and as the row of a task keeps
//! it. Pure.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Bytes of a `tracestate` that are handed on; a longer one is left out, as its standard allows.
const MAX_STATE: usize = 512;
/// Of the flags: somebody records this trace.
const SAMPLED: u8 = 1;

/// A span of a trace, of this process or of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceParent {
    /// The trace; never 0.
    pub trace: u128,
    /// The span; never 0.
    pub span: u64,
    /// Whether somebody records it.
    pub sampled: bool,
    /// What other systems hand along, as it came.
    pub state: Option<Arc<str>>,
}

/// Neither a `traceparent` nor a row's form of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a traceparent, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
pub struct NoTraceParent;

impl TraceParent {
    /// The same with a `tracestate`; one that is empty, too long or no printable ASCII is left out.
    #[must_use]
    pub fn with_state(mut self, state: &str) -> Self {
        let state = state.trim();
        let fits = !state.is_empty() && state.len() <= MAX_STATE;
        self.state = (fits && state.bytes().all(|byte| (b' '..=b'~').contains(&byte))).then(|| state.into());
        self
    }
}

/// The value of a `traceparent` header.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    /// Reads a `traceparent`. A later version may have more after the flags.
    fn from_str(text: &str) -> Result<Self, NoTraceParent> {
        let mut fields = text.trim().split('-');
        let mut next = |digits: usize| {
            let field = fields.next().ok_or(NoTraceParent)?;
            let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            if field.len() == digits && field.bytes().all(is_hex) { Ok(field) } else { Err(NoTraceParent) }
        };
        let version = next(2)?;
        let trace = u128::from_str_radix(next(32)?, 16).map_err(|_| NoTraceParent)?;
        let span = u64::from_str_radix(next(16)?, 16).map_err(|_| NoTraceParent)?;
        let flags = u8::from_str_radix(next(2)?, 16).map_err(|_| NoTraceParent)?;
        let has_more = fields.next().is_some();
        if version == "ff" || (version == "00" && has_more) || trace == 0 || span == 0 {
            return Err(NoTraceParent);
        }
        Ok(Self { trace, span, sampled: flags & SAMPLED != 0, state: None })
    }
}

/// As a row keeps it: the header, and after a space the state.
impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        match &parent.state {
            Some(state) => format!("{parent} {state}"),
            None => parent.to_string(),
        }
    }
}

impl TryFrom<String> for TraceParent {
    type Error = NoTraceParent;

    fn try_from(text: String) -> Result<Self, NoTraceParent> {
        match text.split_once(' ') {
            Some((parent, state)) => Ok(parent.parse::<Self>()?.with_state(state)),
            None => text.parse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_header_is_read_and_written_again() {
        let parent: TraceParent = PARENT.parse().unwrap();
        assert_eq!((parent.span, parent.sampled), (0xb7ad_6b71_6920_3331, true));
        assert_eq!(parent.to_string(), PARENT);
        let later: TraceParent = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02-x".parse().unwrap();
        assert!(!later.sampled);
    }

    /// Without it a client's nonsense becomes the trace of its requests.
    #[test]
    fn what_is_no_parent_is_refused() {
        for wrong in [
            "",
            "00",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(wrong.parse::<TraceParent>(), Err(NoTraceParent), "{wrong}");
        }
    }

    #[test]
    fn a_row_keeps_the_state() {
        let parent: TraceParent = PARENT.parse().unwrap();
        for (state, kept) in [("a=1,b=2", Some("a=1,b=2")), ("", None), ("\u{e4}", None)] {
            let parent = parent.clone().with_state(state);
            assert_eq!(parent.state.as_deref(), kept);
            assert_eq!(TraceParent::try_from(String::from(parent.clone())), Ok(parent));
        }
        assert_eq!(parent.with_state(&"x".repeat(600)).state, None);
    }
}
