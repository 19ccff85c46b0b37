//! The ways in which one call of a plugin fails. A fault ends that call only.
//!
//! Its text is for operators. It never holds a secret, because a plugin never sees one.

use std::any::Any;

/// The default limits suffice for any JSON up to this size; each byte of it may become about 50 bytes of values.
pub(crate) const LARGE_INPUT_BYTES: usize = 256 << 10;
/// What a task keeps between its steps.
pub(crate) const STATE: &str = "state";
/// What a task is handed once.
pub(crate) const BRIEF: &str = "brief";
/// What the SDK's panic says of a state that does not have the form of this version.
const UNREAD: &str = "the state does not read back in this build";
/// A state may be this many times as long as the request it keeps: escapes and base64 grow it.
const STATE_GROWTH: usize = 4;

/// Why a call gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The answer breaks a rule of the contract.
    #[error("the plugin's {what} is not acceptable: {why}")]
    BadOutput {
        /// Which part of the answer.
        what: &'static str,
        /// What was expected and what came.
        why: String,
    },
    /// The queue of the family is full; nothing ran. The only fault worth a retry.
    #[error("too many calls of this family are waiting for a plugin thread")]
    Busy,
    /// The plugin used up its processor time.
    #[error(
        "the plugin used more than {limit_ms} ms of processor time; `call_ms`, or `load_ms` while it is loaded, in \
         [plugins.limits_by_family] raises the limit"
    )]
    Deadline {
        /// The limit.
        limit_ms: u32,
    },
    /// The host failed around the call.
    #[error("the plugin could not be run: {0}")]
    Host(String),
    /// The plugin reached a limit on a large request, such as a million empty lists.
    #[error("{what} has {bytes} bytes and is more than its plugin can work through ({limit})")]
    InputTooComplex {
        /// Which part of the input.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit it reached.
        limit: Box<Fault>,
    },
    /// The input is too large for a plugin; nothing ran.
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
    #[error(
        "the plugin needs more than {limit_mib} MiB of memory; `memory_mib` in [plugins.limits_by_family] raises the limit"
    )]
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
    /// The plugin trapped.
    #[error("the plugin trapped: {reason}")]
    Trap {
        /// wasmtime's text, and the last error the plugin logged.
        reason: String,
    },
    /// The version was rolled back before the call began; nothing ran.
    #[error("the plugin version was rolled back")]
    RolledBack,
}

/// Every outcome of a call, as metrics name it.
pub(crate) const OUTCOMES: [&str; 12] = [
    "ok",
    "bad_output",
    "busy",
    "deadline",
    "host",
    "input_too_complex",
    "input_too_large",
    "memory",
    "request_too_long",
    "too_large",
    "trap",
    "withdrawn",
];

impl Fault {
    /// Whether the plugin caused it, rather than the host or the input.
    #[must_use]
    pub fn is_plugin_caused(&self) -> bool {
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
            | Self::RolledBack => true,
        }
    }

    /// Whether the plugin could not read the state it was given. The SDK's panic says so in these words.
    #[must_use]
    pub fn is_unread_state(&self) -> bool {
        matches!(self, Self::Trap { reason } if reason.contains(UNREAD))
    }

    /// The value of the `outcome` label in metrics; never changes.
    #[must_use]
    pub fn label(&self) -> &'static str {
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
            Self::RolledBack => "withdrawn",
        }
    }

    /// A limit reached on a large input is the input's doing: else one client could have a fresh version rolled
    /// back.
    pub(crate) fn for_input(self, what: &'static str, bytes: usize) -> Self {
        match self {
            Self::Deadline { .. } | Self::Memory { .. } | Self::TooLarge { .. }
                if bytes > LARGE_INPUT_BYTES =>
            {
                Self::InputTooComplex { what, bytes, limit: Box::new(self) }
            }
            other => other,
        }
    }

    /// Whether the input alone is to blame: of an answer, its provider.
    #[must_use]
    pub fn is_of_input(&self) -> bool {
        matches!(self, Self::InputTooComplex { .. } | Self::InputTooLarge { .. })
    }

    /// A state over its limit is the request's fault if the request is long itself, and the plugin's otherwise.
    pub(crate) fn for_state_of(self, request: usize, state: usize) -> Self {
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

/// The message of a caught panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
