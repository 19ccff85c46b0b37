//! The process's log in memory: each event as one line, beside what goes to standard error. The lines about requests are
//! left out: they have a log of their own, which formats nothing.

use std::fmt::{self, Write as _};
use std::sync::{Arc, LazyLock};

use gatehouse_model::{Clock as _, ProcessLine, Recent};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::system::SystemClock;

/// Lines that are kept, and their bytes.
const MAX_LINES: usize = 10_000;
const MAX_BYTES: usize = 4 << 20;
/// Bytes of one line; the rest of it is cut.
const MAX_LINE: usize = 8 * 1024;
/// What a line takes beside its text, about.
const LINE_BYTES: usize = 64;
/// Where the line of a request comes from.
const REQUESTS: &str = "gatehouse_edge::http::access_log";

/// The log of this process.
static LOG: LazyLock<Arc<Recent<ProcessLine>>> =
    LazyLock::new(|| Arc::new(Recent::new(MAX_LINES, MAX_BYTES)));

/// The log of this process.
pub fn process_log() -> Arc<Recent<ProcessLine>> {
    Arc::clone(&LOG)
}

/// Keeps every event but those about requests.
pub(crate) struct KeepLines;

impl<S: Subscriber> Layer<S> for KeepLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        if *about.level() == Level::INFO && about.target() == REQUESTS {
            return;
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        let mut text = text.0;
        text.truncate(text.floor_char_boundary(MAX_LINE));
        let bytes = text.len() + LINE_BYTES;
        let line = ProcessLine {
            at: SystemClock.now(),
            level: about.level().as_str(),
            target: about.target(),
            text,
        };
        LOG.push(line, bytes);
    }
}

/// The sentence, then name and value of each field.
struct Text(String);

impl Text {
    fn add(&mut self, name: &str, value: fmt::Arguments<'_>) {
        if self.0.len() > MAX_LINE {
            return;
        }
        // Writing to a string cannot fail.
        let _ = if name == "message" {
            let rest = std::mem::take(&mut self.0);
            self.0.write_fmt(value).and_then(|()| self.0.write_str(&rest))
        } else {
            self.0.write_fmt(format_args!(" {name}={value}"))
        };
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.add(field.name(), format_args!("{value}"));
        } else {
            self.add(field.name(), format_args!("{value:?}"));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn events_become_lines_and_requests_do_not() {
        let subscriber = tracing_subscriber::registry().with(KeepLines);
        let before = LOG.last();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(target: "a_test", name = "x y", count = 3, "it happened");
            tracing::info!(target: "gatehouse_edge::http::access_log", "request");
            tracing::warn!(target: "gatehouse_edge::http::access_log", "a response broke off");
            tracing::info!(target: "a_test", "{}", "ä".repeat(MAX_LINE));
        });
        let (lines, _) = LOG.after(before, 100, |line| line.target == "a_test" || line.target == REQUESTS);
        let shown: Vec<(&str, &str)> =
            lines.iter().map(|(_, line)| (line.level, line.text.as_str())).collect();
        assert_eq!(shown[0], ("WARN", "it happened name=\"x y\" count=3"));
        assert_eq!(shown[1], ("WARN", "a response broke off"));
        assert_eq!((shown.len(), shown[2].1.len()), (3, MAX_LINE));
    }
}
