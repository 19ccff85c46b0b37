//! The operator's log, the only function of the host a family may call. Natively the lines go to standard
//! error.
//!
//! ```
//! gatehouse_sdk::log::error("the account was refused", &[("status", "403")]);
//! ```

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The operator must act.
    Error,
    /// The operator should know.
    Warn,
    /// For information.
    Info,
    /// For debugging.
    Debug,
}

/// The operator must act: on the account, or on the family itself.
pub fn error(message: &str, fields: &[(&str, &str)]) {
    write(Level::Error, message, fields);
}

/// The operator should know.
pub fn warn(message: &str, fields: &[(&str, &str)]) {
    write(Level::Warn, message, fields);
}

/// For information.
pub fn info(message: &str, fields: &[(&str, &str)]) {
    write(Level::Info, message, fields);
}

/// For debugging.
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
