//! The one metrics recorder, and the buckets of every histogram. What it holds is rendered for the admin listener.

use gatehouse_model::metric::{self, Metric, MetricKind};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::registered::Registered;

/// Installs the metrics recorder and returns what renders it.
///
/// # Errors
/// A histogram has no buckets, or there is a recorder already.
pub fn start_metrics() -> Result<PrometheusHandle, String> {
    let recorder =
        with_buckets(PrometheusBuilder::new()).map_err(|error| error.to_string())?.build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(Registered(recorder)).map_err(|error| error.to_string())?;
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

fn with_buckets(mut builder: PrometheusBuilder) -> Result<PrometheusBuilder, BuildError> {
    for (name, buckets) in HISTOGRAMS {
        builder = builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), buckets)?;
    }
    Ok(builder)
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
