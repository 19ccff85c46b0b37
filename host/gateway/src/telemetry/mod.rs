//! Logs and metrics: how they leave the process.
//!
//! Logs go to standard error, one event a line, and the last ones stay in memory. Metrics are rendered for the admin listener.
//! Nothing else installs a subscriber or a recorder.

mod log_lines;
mod sampled;
mod traces;

use std::io;

use gatehouse_model::metric::{self, Metric, MetricKind};
use gatehouse_model::settings;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Deserialize;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use log_lines::KeepLines;
pub(crate) use log_lines::process_log;
pub(crate) use sampled::{Sampled, note_reload, note_start};
pub(crate) use traces::{Exporter, TracesConfig};

use crate::terminal::JsonLines;

settings! {
    /// The `[log]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(crate) struct LogConfig {
        /// `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,gatehouse_upstream=debug`.
        pub(crate) level: String = "info".to_owned(),
        /// How a line looks.
        pub(crate) format: LogFormat = LogFormat::Text,
    }
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
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
    pub(crate) fn filter(&self) -> Result<Targets, String> {
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
pub(crate) fn start_logs(config: &LogConfig) -> Result<(), String> {
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

/// Installs the metrics recorder and returns what renders it.
pub(crate) fn start_metrics() -> Result<PrometheusHandle, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for (name, buckets) in HISTOGRAMS {
        builder = builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), buckets)?;
    }
    let metrics = builder.install_recorder()?;
    for Metric { name, kind, help } in metric::ALL {
        let help = help.trim();
        match kind {
            MetricKind::Counter => metrics::describe_counter!(*name, help),
            MetricKind::Gauge => metrics::describe_gauge!(*name, help),
            MetricKind::Histogram => metrics::describe_histogram!(*name, help),
        }
    }
    Ok(metrics)
}

/// As the conventions of OpenTelemetry advise.
const GEN_AI_SECONDS: &[f64] =
    &[0.01, 0.04, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 655.36];

/// Upper bounds of every histogram, chosen around what each is expected to show.
const HISTOGRAMS: &[(&str, &[f64])] = &[
    (
        metric::REQUEST_SECONDS,
        &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0],
    ),
    (metric::GEN_AI_DURATION, GEN_AI_SECONDS),
    (metric::GEN_AI_FIRST_TOKEN, &[0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 60.0]),
    (metric::GEN_AI_OUTPUT_TOKEN, &[0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.4, 0.75, 2.5]),
    (
        metric::GEN_AI_TOKENS,
        &[1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0],
    ),
    (metric::LATENESS_SECONDS, &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0]),
    (metric::CALL_SECONDS, &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0]),
    (metric::WAIT_SECONDS, &[0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0, 1800.0]),
    (metric::PLUGIN_SECONDS, &[0.000_01, 0.000_025, 0.000_05, 0.0001, 0.0005, 0.001, 0.01, 0.1]),
    (metric::BATCH_SIZE, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 512.0, 2048.0]),
    (metric::SYNC_SECONDS, &[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0]),
    (metric::COMMIT_SECONDS, &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0]),
];

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

    /// A histogram without buckets of its own would be a summary, and a name without its kind no metric.
    #[test]
    fn kinds_fit_names_and_buckets() {
        for Metric { name, kind, help } in metric::ALL {
            assert_eq!(*kind == MetricKind::Counter, name.ends_with("_total"), "{name}");
            let has_buckets = HISTOGRAMS.iter().any(|(histogram, _)| histogram == name);
            assert_eq!(*kind == MetricKind::Histogram, has_buckets, "{name}");
            assert!(help.trim().ends_with('.'), "{name}");
        }
    }

    #[test]
    fn buckets_are_ascending() {
        for (name, buckets) in HISTOGRAMS {
            assert!(buckets.is_sorted() && !buckets.is_empty(), "{name}");
        }
    }
}
