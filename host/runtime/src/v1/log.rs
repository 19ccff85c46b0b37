//! The `log` import.

use super::bindings::gatehouse::family::{log, types, upstream};
use crate::guest::Guest;
use crate::notes::Level;

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Error => Level::Error,
            log::Level::Warn => Level::Warn,
            log::Level::Info => Level::Info,
            log::Level::Debug => Level::Debug,
        };
        self.notes().line(level, &message, &fields);
    }
}

// Interfaces of types alone; the linker wants them named.
impl types::Host for Guest {}
impl upstream::Host for Guest {}
