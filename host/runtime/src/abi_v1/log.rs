//! The `log` import.

use super::contract::bindings::gatehouse::family::{log, parents, types, upstream};
use gatehouse_guest::{Guest, Level};

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Error => Level::Error,
            log::Level::Warn => Level::Warn,
            log::Level::Info => Level::Info,
            log::Level::Debug => Level::Debug,
        };
        self.log().line(level, &message, &fields);
    }
}

// Interfaces with types only; the linker requires the traits.
impl types::Host for Guest {}
impl upstream::Host for Guest {}
impl parents::Host for Guest {}
