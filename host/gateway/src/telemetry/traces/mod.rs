//! Traces: the `[traces]` table, and how spans leave the process. Spans wait in a bounded queue; where the collector does not
//! take them in time, the newest are dropped and counted, and no request waits.
//!
//! The messages are those of the `opentelemetry-proto` crate; the connection is that of `host/upstream`. The exporters of
//! OpenTelemetry's own crates would read the environment, the clock and random numbers by themselves, which have one owner here.

mod encode;
mod export;

use std::collections::BTreeMap;
use std::sync::Arc;

use gatehouse_model::{Clock, Secret, SecretRef, Seed, Tracer};
use gatehouse_upstream::{Collector, OutgoingRoute, check_collector_url};
use serde::Deserialize;

pub(crate) use export::Exporter;

use crate::secrets;

/// Spans that may wait, at most.
const MAX_QUEUE: usize = 1 << 20;

/// The `[traces]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TracesConfig {
    /// Where a collector takes traces, OTLP over HTTP with protobuf; absent: no traces are made.
    pub(crate) endpoint: Option<String>,
    /// Headers that are sent along.
    pub(crate) headers: BTreeMap<String, SecretRef>,
    /// The share of requests that are traced, 0 to 1.
    pub(crate) sample: f64,
    /// Whether the sampled flag of a client's `traceparent` decides for its request.
    pub(crate) follow_parent: bool,
    /// Spans that may wait for the collector.
    pub(crate) queue: usize,
    /// What the collector calls this gateway.
    pub(crate) service_name: String,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            sample: 1.0,
            follow_parent: true,
            queue: 4096,
            service_name: "gatehouse".to_owned(),
        }
    }
}

impl TracesConfig {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The key, and what was expected.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(endpoint) = &self.endpoint {
            check_collector_url(endpoint).map_err(|why| ("endpoint", why))?;
        }
        if !(0.0..=1.0).contains(&self.sample) {
            return Err(("sample", format!("expected 0 to 1, got {}", self.sample)));
        }
        if !(1..=MAX_QUEUE).contains(&self.queue) {
            return Err(("queue", format!("expected 1 to {MAX_QUEUE} spans, got {}", self.queue)));
        }
        if self.service_name.is_empty() || self.service_name.len() > 255 {
            return Err(("service_name", "expected a name of 1 to 255 bytes".to_owned()));
        }
        Ok(())
    }

    /// Where spans go; `None` where no traces are made.
    ///
    /// # Errors
    /// A header, the roots or the proxy cannot be used; the key and why.
    pub(crate) fn collector(&self, route: &OutgoingRoute<'_>) -> Result<Option<Collector>, String> {
        let Some(endpoint) = &self.endpoint else { return Ok(None) };
        let mut headers: Vec<(String, Secret<String>)> = Vec::new();
        for (name, secret) in &self.headers {
            let value = secrets::resolve(secret).map_err(|why| format!("traces.headers.{name}: {why}"))?;
            headers.push((name.clone(), value));
        }
        Collector::new(endpoint, &headers, route).map(Some).map_err(|why| format!("traces: {why}"))
    }

    /// The tracer, and what sends its spans; `None` where no traces are made.
    ///
    /// # Errors
    /// As of [`Self::collector`].
    pub(crate) fn start(
        &self,
        route: &OutgoingRoute<'_>,
        (clock, seed): (&Arc<dyn Clock>, &Arc<dyn Seed>),
    ) -> Result<Option<(Arc<Tracer>, Exporter)>, String> {
        let Some(collector) = self.collector(route)? else { return Ok(None) };
        let (exporter, sink) = Exporter::new(collector, &self.service_name, self.queue, Arc::clone(clock));
        let sampling = (self.sample, self.follow_parent);
        let tracer = Tracer::new(Arc::new(sink), sampling, Arc::clone(clock), Arc::clone(seed));
        Ok(Some((Arc::new(tracer), exporter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named() {
        let check = |change: fn(&mut TracesConfig)| {
            let mut config = TracesConfig::default();
            change(&mut config);
            config.check().map_err(|(key, _)| key)
        };
        assert_eq!(check(|_| {}), Ok(()));
        assert_eq!(check(|config| config.endpoint = Some("collector".to_owned())), Err("endpoint"));
        assert_eq!(check(|config| config.sample = 1.5), Err("sample"));
        assert_eq!(check(|config| config.sample = f64::NAN), Err("sample"));
        assert_eq!(check(|config| config.queue = 0), Err("queue"));
        assert_eq!(check(|config| config.service_name.clear()), Err("service_name"));
    }
}
