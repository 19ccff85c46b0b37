//! What each thread has registered with the recorder of metrics.
//!
//! A registration copies every label, and a text makes some fifteen: together they cost more than the whole of its authentication.
//! So a thread keeps what it got.

use std::cell::RefCell;
use std::collections::HashMap;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// Of each kind, for one thread; what a start registers for every model goes over it and is forgotten again.
const MOST: usize = 512;

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Handles by name and labels.
#[derive(Default)]
struct Kept {
    counters: HashMap<Key, Counter>,
    gauges: HashMap<Key, Gauge>,
    histograms: HashMap<Key, Histogram>,
}

/// The recorder of the process; a handle that it gave stays good. There is to be one, since threads do not tell whose handle they
/// keep.
pub(crate) struct Registered<R>(pub(crate) R);

impl<R: Recorder> Recorder for Registered<R> {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_counter(name, unit, description);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_gauge(name, unit, description);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_histogram(name, unit, description);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        kept(key, |kept| &mut kept.counters, || self.0.register_counter(key, metadata))
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        kept(key, |kept| &mut kept.gauges, || self.0.register_gauge(key, metadata))
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        kept(key, |kept| &mut kept.histograms, || self.0.register_histogram(key, metadata))
    }
}

/// The handle that this thread has, or the one that it registers. A thread that ends keeps nothing any more.
fn kept<T: Clone>(
    key: &Key,
    of_kind: impl Fn(&mut Kept) -> &mut HashMap<Key, T>,
    register: impl FnOnce() -> T,
) -> T {
    let found = KEPT.try_with(|kept| of_kind(&mut kept.borrow_mut()).get(key).cloned());
    if let Ok(Some(found)) = found {
        return found;
    }
    let registered = register();
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let of_kind = of_kind(&mut kept);
        if of_kind.len() >= MOST {
            of_kind.clear();
        }
        of_kind.insert(key.clone(), registered.clone());
    });
    registered
}

#[cfg(test)]
mod tests {
    use std::thread;

    use metrics::with_local_recorder;
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    /// A label that differs is another metric, whatever else is the same; and nothing is counted twice or for another.
    #[test]
    fn each_handle_counts_for_its_own_name_and_labels() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let (handle, recorder) = (recorder.handle(), Registered(recorder));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| with_local_recorder(&recorder, || (0..3).for_each(|_| count(MOST + 2))));
            }
        });
        let text = handle.render();
        for name in ["called_total{", "called_too_total{"] {
            let each = text.lines().filter(|line| line.starts_with(name) && line.ends_with("} 6"));
            assert_eq!(each.count(), MOST + 2, "{name} in {text}");
        }
        for line in
            ["called_total 6", "calling{of=\"a\"} 2.5", "took_count{of=\"a\"} 6", "took_sum{of=\"b\"} 12"]
        {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    /// Each of the metrics once; gauges are set.
    fn count(labels: usize) {
        for label in 0..labels {
            metrics::counter!("called_total", "of" => label.to_string()).increment(1);
            metrics::counter!("called_too_total", "of" => label.to_string()).increment(1);
        }
        metrics::counter!("called_total").increment(1);
        metrics::gauge!("calling", "of" => "a").set(2.5);
        metrics::histogram!("took", "of" => "a").record(1.0);
        metrics::histogram!("took", "of" => "b").record(2.0);
    }
}
