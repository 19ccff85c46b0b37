//! The operator's log: the one thing a family may ask of the host while it runs. Natively it goes to
//! standard error.
//!
//! ```
//! gatehouse_sdk::log::error("the account was refused", &[("status", "403")]);
//! ```

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Somebody must act.
    Error,
    /// Somebody should know.
    Warn,
    /// Worth a line.
    Info,
    /// Only for whoever looks for a fault.
    Debug,
}

/// Somebody must act: the operator's account, or the family itself.
pub fn error(message: &str, fields: &[(&str, &str)]) {
    write(Level::Error, message, fields);
}

/// Somebody should know.
pub fn warn(message: &str, fields: &[(&str, &str)]) {
    write(Level::Warn, message, fields);
}

/// Worth a line.
pub fn info(message: &str, fields: &[(&str, &str)]) {
    write(Level::Info, message, fields);
}

/// Only for whoever looks for a fault.
pub fn debug(message: &str, fields: &[(&str, &str)]) {
    write(Level::Debug, message, fields);
}

/// Writes one line. The host bounds how many and how long.
#[cfg(target_arch = "wasm32")]
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    use crate::bindings::gatehouse::family::log;

    let level = match level {
        Level::Error => log::Level::Error,
        Level::Warn => log::Level::Warn,
        Level::Info => log::Level::Info,
        Level::Debug => log::Level::Debug,
    };
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    log::write(level, message, &fields);
}

/// Writes one line. The host bounds how many and how long.
#[cfg(not(target_arch = "wasm32"))]
#[expect(clippy::print_stderr, reason = "only native tests come here, and libtest captures this")]
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let mut line = format!("{level:?} {message}");
    for (name, value) in fields {
        line.push_str(&format!(" {name}={value:?}"));
    }
    eprintln!("{line}");
}
