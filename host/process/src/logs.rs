//! The process's log on standard error, one event a line: the `[log]` table, and the one subscriber.

use std::io::{self, Write};

use gatehouse_model::{escape_control_in_json, settings};
use serde::Deserialize;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::log_lines::KeepLines;

settings! {
    /// The `[log]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct LogConfig {
        /// `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,gatehouse_upstream=debug`.
        pub level: String = "info".to_owned(),
        /// How a line looks.
        pub format: LogFormat = LogFormat::Text,
    }
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl LogConfig {
    /// The filter that `level` spells.
    ///
    /// # Errors
    /// A `level` that is not a filter, or would silence everything that it does not name; what was expected.
    pub fn filter(&self) -> Result<Targets, String> {
        let expected = |why: &str| {
            format!(
                "{why}; write one of {}, or a filter such as info,gatehouse_edge=debug",
                LEVELS.join(", ")
            )
        };
        let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
        let (named, general): (Vec<&str>, Vec<&str>) =
            self.level.split(',').map(str::trim).partition(|part| part.contains('='));
        // The parser takes any word for the name of a part that is to be logged, and is silent about all others.
        if let Some(word) = general.iter().find(|word| !is_level(word)) {
            return Err(expected(&format!("expected a level, got {word:?}")));
        }
        if general.is_empty() {
            let why = format!("expected a level for everything that {} does not name", named.join(","));
            return Err(expected(&why));
        }
        let filter: Targets = self.level.parse().map_err(|error: ParseError| {
            expected(&format!("expected a filter, got {:?}: {error}", self.level))
        })?;
        // It tells every repetition of a request at this level; what came of all of them is told by the media store.
        let is_usual = self.level.eq_ignore_ascii_case("info");
        Ok(if is_usual { filter.with_target("object_store", LevelFilter::WARN) } else { filter })
    }
}

/// The levels, and silence.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// Installs the subscriber; a process has one, so a second call changes nothing.
///
/// # Errors
/// The level is no filter.
pub fn start_logs(config: &LogConfig) -> Result<(), String> {
    let wanted = tracing_subscriber::registry().with(config.filter()?).with(KeepLines);
    let lines = fmt::layer().with_writer(io::stderr);
    let installed = match config.format {
        LogFormat::Text => {
            let ansi = io::IsTerminal::is_terminal(&io::stderr());
            wanted.with(lines.with_ansi(ansi)).try_init()
        }
        LogFormat::Json => wanted.with(lines.json().flatten_event(true).with_writer(|| JsonLines)).try_init(),
    };
    drop(installed);
    Ok(())
}

/// Standard error for log lines of JSON, each of them written at once.
struct JsonLines;

impl Write for JsonLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().lock().write_all(escape_control_in_json(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_filters() {
        for (level, fits) in [
            ("info", true),
            ("OFF", true),
            ("info, gatehouse_edge=debug", true),
            ("warn,hyper=off", true),
            ("info,a=b=c", false),
            ("info,x=loud", false),
            // Each of them would silence the log without a word.
            ("verbose", false),
            ("", false),
            ("gatehouse_edge", false),
            ("gatehouse_edge=debug", false),
        ] {
            let config = LogConfig { level: level.to_owned(), ..LogConfig::default() };
            assert_eq!(config.filter().is_ok(), fits, "{level}");
        }
    }
}
