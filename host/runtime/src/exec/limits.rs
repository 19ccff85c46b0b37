//! What one call of a plugin may use. Read from the operator's configuration; the engine, the instance and the
//! answer rules enforce it.

use std::num::NonZeroU32;

use gatehouse_contract::STATE_KIB;
use gatehouse_guest::GuestLimits;
use gatehouse_model::settings;
use serde::{Deserialize, Serialize};

use crate::exec::engine::TABLE_ELEMENTS;

settings! {
    /// The limits of a family. Strict by default; an operator raises them for a family that needs more (a component
    /// made from Python has 18 MB).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Limits {
        /// Linear memory of an instance, MiB. Like `call_ms`, it grows with a text of several MiB.
        pub memory_mib: NonZeroU32 = count(32),
        /// Processor time of a submit or an advance, ms.
        pub call_ms: NonZeroU32 = count(100),
        /// Processor time of a describe, a migrate or a self-test, ms.
        pub load_ms: NonZeroU32 = count(1000),
        /// MiB that one call may copy out of the guest; also the largest upstream reply it gets.
        pub crossing_mib: NonZeroU32 = count(8),
        /// The JSON of a task's request without its blobs, KiB.
        pub input_kib: NonZeroU32 = count(1024),
        /// The JSON of a text request without its blobs, KiB. Models read a million tokens and more.
        pub text_kib: NonZeroU32 = count(8192),
        /// A task's state, KiB.
        pub state_kib: NonZeroU32 = count(STATE_KIB),
        /// The component's file, MiB.
        pub component_mib: NonZeroU32 = count(24),
        /// Log lines of one call.
        pub log_lines: NonZeroU32 = count(64),
        /// One log line, KiB.
        pub log_line_kib: NonZeroU32 = count(4),
        /// Component-model handles an instance may hold at once.
        pub handles: NonZeroU32 = count(64),
    }
}

/// MiB of memory for each MiB of a text request: the text, its parts, the conversation that a response is made of and the
/// upstream request, in buffers that grow by doubling.
pub(crate) const MEMORY_PER_INPUT_MIB: u32 = 24;

pub(crate) const fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).expect("a literal above zero")
}

impl Limits {
    /// A 32-bit memory ends at 4 GiB.
    const MAX_MEMORY_MIB: u32 = 4096;

    /// The limits of a call with an input of that many bytes. The plugin reads, owns and writes each MiB again; a
    /// client who may send it must not fault the plugin with it.
    pub(crate) fn for_input(self, bytes: usize) -> Self {
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        Self {
            memory_mib: self.memory_mib.saturating_add(mib.saturating_mul(MEMORY_PER_INPUT_MIB)),
            call_ms: self.call_ms.saturating_add(mib.saturating_mul(self.call_ms.get())),
            crossing_mib: self.crossing_mib.saturating_add(mib),
            ..self
        }
    }

    /// What an instance may hold and print.
    pub(crate) fn of_guest(&self) -> GuestLimits {
        GuestLimits {
            memory: self.memory(),
            table_elements: TABLE_ELEMENTS,
            handles: usize::try_from(self.handles.get()).unwrap_or(usize::MAX),
            log_lines: self.log_lines.get(),
            log_line: kib(self.log_line_kib.get()),
        }
    }

    pub(crate) fn memory(&self) -> usize {
        mib(self.memory_mib.get().min(Self::MAX_MEMORY_MIB))
    }

    pub(crate) fn crossing(&self) -> usize {
        mib(self.crossing_mib.get())
    }

    pub(crate) fn component(&self) -> usize {
        mib(self.component_mib.get())
    }

    pub(crate) fn input(&self) -> usize {
        kib(self.input_kib.get())
    }

    pub(crate) fn text(&self) -> usize {
        kib(self.text_kib.get())
    }

    pub(crate) fn state(&self) -> usize {
        kib(self.state_kib.get())
    }

    /// What a text request may leave for its answer: a response repeats its instructions and its tools. The
    /// state is never written to disk.
    pub(crate) fn text_state(&self, input: usize) -> usize {
        self.state().saturating_add(input.saturating_mul(2))
    }

    /// The larger of each limit.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            memory_mib: self.memory_mib.max(other.memory_mib),
            call_ms: self.call_ms.max(other.call_ms),
            load_ms: self.load_ms.max(other.load_ms),
            crossing_mib: self.crossing_mib.max(other.crossing_mib),
            input_kib: self.input_kib.max(other.input_kib),
            text_kib: self.text_kib.max(other.text_kib),
            state_kib: self.state_kib.max(other.state_kib),
            component_mib: self.component_mib.max(other.component_mib),
            log_lines: self.log_lines.max(other.log_lines),
            log_line_kib: self.log_line_kib.max(other.log_line_kib),
            handles: self.handles.max(other.handles),
        }
    }
}

fn kib(count: u32) -> usize {
    usize::try_from(u64::from(count) << 10).unwrap_or(usize::MAX)
}

pub(crate) fn mib(count: u32) -> usize {
    usize::try_from(u64::from(count) << 20).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_a_table_with_defaults() {
        let check = |text: &str, expected: Result<u32, &str>| {
            let limits: Result<Limits, _> = serde_json::from_str(text);
            match (limits, expected) {
                (Ok(limits), Ok(memory)) => assert_eq!(limits.memory_mib.get(), memory, "{text}"),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (other, _) => panic!("{text}: {other:?}"),
            }
        };
        check("{}", Ok(32));
        check(r#"{"memory_mib": 48}"#, Ok(48));
        check(r#"{"memory_mib": 0}"#, Err("nonzero"));
        check(r#"{"memory_mb": 1}"#, Err("unknown field"));
    }

    #[test]
    fn a_large_text_raises_the_limits_and_a_usual_one_does_not() {
        let limits = Limits::default();
        assert_eq!(limits.for_input((1 << 20) - 1), limits);
        let large = limits.for_input(5 << 20);
        assert_eq!((large.memory_mib.get(), large.call_ms.get(), large.crossing_mib.get()), (152, 600, 13));
        // Without it a response with long instructions would be a task's error.
        assert_eq!(limits.text_state(0), 64 << 10);
        assert!(limits.text_state(1 << 20) > 1 << 20);
        assert_eq!(limits.for_input(usize::MAX).memory(), 4096 << 20);
    }
}
