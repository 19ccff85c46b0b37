//! What can go wrong in one call of a plugin. Each fault ends that call only.

/// The smallest limits there are by default read any JSON up to this: each of its bytes may become some 50 of
/// values.
const LARGE: usize = 256 << 10;
/// What a task keeps between its steps.
pub(crate) const STATE: &str = "state";
/// A state may be this many times as long as the request it keeps: escapes and base64 grow it.
const STATE_GROWTH: usize = 4;

/// Why a call gave no usable answer. The text is for operators; it never holds a secret, because a plugin
/// never sees one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The plugin answered, and the answer breaks a rule of the contract.
    #[error("the plugin's {what} is not acceptable: {why}")]
    BadOutput {
        /// Which part of the answer.
        what: &'static str,
        /// What was expected and what came.
        why: String,
    },
    /// The queue of the family's calls is full; nothing ran. The only fault worth a retry.
    #[error("too many calls of this family are waiting for a plugin thread")]
    Busy,
    /// The plugin used up its processor time.
    #[error("the plugin used more than {limit_ms} ms of processor time")]
    Deadline {
        /// The limit.
        limit_ms: u32,
    },
    /// The host's own trouble around the call.
    #[error("the plugin could not be run: {0}")]
    Host(String),
    /// The plugin ran out of its limits over a large request: a million empty lists are one.
    #[error("{what} has {bytes} bytes and is more than its plugin can work through ({limit})")]
    InputTooComplex {
        /// Which part of the input.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// Which limit it met.
        limit: Box<Fault>,
    },
    /// What was to be handed to the plugin is too large; nothing ran.
    #[error("{what} has {bytes} bytes, {limit} is the most a plugin is given")]
    InputTooLarge {
        /// Which part of the input.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The plugin must keep more of a long request than a task's state can hold.
    #[error("the request is too long: its task must keep {bytes} bytes of it, at most {limit} are possible")]
    RequestTooLong {
        /// The size of the state.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The plugin wanted more memory than it may have.
    #[error("the plugin needs more than {limit_mib} MiB of memory")]
    Memory {
        /// The limit.
        limit_mib: u32,
    },
    /// The plugin's answer is too large.
    #[error("the plugin's {what} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// Which part of the answer.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The plugin stopped in the middle.
    #[error("the plugin trapped: {reason}")]
    Trap {
        /// wasmtime's words, and the plugin's own last ones.
        reason: String,
    },
    /// The version was withdrawn before the call began; nothing ran.
    #[error("the plugin version was withdrawn")]
    Withdrawn,
}

impl Fault {
    /// Whether it is the plugin's own doing, rather than the host's or the input's.
    #[must_use]
    pub fn is_plugins(&self) -> bool {
        match self {
            Self::Busy
            | Self::Host(_)
            | Self::InputTooComplex { .. }
            | Self::InputTooLarge { .. }
            | Self::RequestTooLong { .. } => false,
            Self::BadOutput { .. }
            | Self::Deadline { .. }
            | Self::Memory { .. }
            | Self::TooLarge { .. }
            | Self::Trap { .. }
            | Self::Withdrawn => true,
        }
    }

    /// One word, for metrics.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::BadOutput { .. } => "bad_output",
            Self::Busy => "busy",
            Self::Deadline { .. } => "deadline",
            Self::Host(_) => "host",
            Self::InputTooComplex { .. } => "input_too_complex",
            Self::InputTooLarge { .. } => "input_too_large",
            Self::Memory { .. } => "memory",
            Self::RequestTooLong { .. } => "request_too_long",
            Self::TooLarge { .. } => "too_large",
            Self::Trap { .. } => "trap",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Who sends a large request may not fault the plugin with it: then its watch would withdraw a build for
    /// what one client does.
    pub(crate) fn over(self, what: &'static str, bytes: usize) -> Self {
        match self {
            Self::Deadline { .. } | Self::Memory { .. } if bytes > LARGE => {
                Self::InputTooComplex { what, bytes, limit: Box::new(self) }
            }
            other => other,
        }
    }

    /// A state over its limit is the request's fault if the request is long itself, and the plugin's otherwise.
    pub(crate) fn of_request(self, request: usize, state: usize) -> Self {
        match self {
            Self::TooLarge { what: STATE, limit } if request >= limit / STATE_GROWTH => {
                Self::RequestTooLong { bytes: state, limit }
            }
            other => other,
        }
    }

    pub(crate) fn bad(what: &'static str, why: impl Into<String>) -> Self {
        Self::BadOutput { what, why: why.into() }
    }
}
