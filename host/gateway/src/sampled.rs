//! Gauges that nobody sets when something happens, because they are about what is: the process, its certificates, active plugin
//! versions, and what waits in the store. They are looked at every few seconds, off the async workers.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;

use gatehouse_edge::Certificates;
use gatehouse_model::{UnixMs, metric};
use gatehouse_runtime::PluginService;
use gatehouse_store::Store;

/// What is looked at.
pub(crate) struct Sampled {
    pub(crate) store: Store,
    pub(crate) plugins: PluginService,
    /// Of each listener with TLS, by its table.
    pub(crate) certificates: Vec<(&'static str, Certificates)>,
    /// Labels of the versions that were active at the last look.
    pub(crate) active: Mutex<BTreeSet<[String; 3]>>,
}

/// Sets what does not change while the process runs.
pub(crate) fn note_start(now: UnixMs) {
    metrics::gauge!(metric::BUILD, "version" => env!("GATEHOUSE_VERSION")).set(1.0);
    metrics::gauge!(metric::PROCESS_START).set(seconds(now));
}

/// Notes a reading of the configuration.
pub(crate) fn note_reload(now: UnixMs, succeeded: bool) {
    metrics::gauge!(metric::RELOAD_SUCCEEDED).set(f64::from(u8::from(succeeded)));
    if succeeded {
        metrics::gauge!(metric::RELOADED).set(seconds(now));
    }
}

impl Sampled {
    /// Looks at all of it. Reads files and the store.
    pub(crate) fn look(&self, now: UnixMs) {
        look_at_process();
        for (table, certificates) in &self.certificates {
            if let Some(expiry) = certificates.expires() {
                metrics::gauge!(metric::CERTIFICATE_EXPIRY, "table" => *table).set(seconds(expiry));
            }
        }
        self.look_at_versions();
        match self.store.gauges() {
            Ok(gauges) => {
                let age = |since: Option<UnixMs>| since.map_or(0.0, |since| now.since(since).as_secs_f64());
                metrics::gauge!(metric::OLDEST_HOLD, "of" => "request").set(age(gauges.oldest_request_hold));
                metrics::gauge!(metric::OLDEST_HOLD, "of" => "task").set(age(gauges.oldest_task_hold));
                metrics::gauge!(metric::WITHOUT_CREDIT).set(number(gauges.customers_without_credit));
                metrics::gauge!(metric::WEBHOOKS_WAITING).set(number(gauges.deliveries_waiting));
                metrics::gauge!(metric::WEBHOOKS_OLDEST).set(age(gauges.oldest_delivery));
                metrics::gauge!(metric::WEBHOOKS_FAILING).set(number(gauges.webhooks_failing));
            }
            // A store that is of no use ends the process; one that is being closed is of no interest.
            Err(error) => tracing::debug!(%error, "the store was not looked at"),
        }
    }

    fn look_at_versions(&self) {
        let versions = self.plugins.registry().versions();
        let labels = |version: &gatehouse_runtime::Version| {
            [version.family().to_owned(), version.about().version.to_string(), version.digest().short()]
        };
        let active: BTreeSet<[String; 3]> = versions.iter().map(|version| labels(version)).collect();
        let mut before = self.active.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let publish = |[family, version, digest]: &[String; 3], is_active: bool| {
            let labels =
                [("family", family.clone()), ("version", version.clone()), ("digest", digest.clone())];
            metrics::gauge!(metric::PLUGIN_INFO, &labels).set(f64::from(u8::from(is_active)));
        };
        before.difference(&active).for_each(|gone| publish(gone, false));
        active.difference(&before).for_each(|new| publish(new, true));
        *before = active;
    }
}

fn look_at_process() {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    metrics::counter!(metric::PROCESS_CPU).absolute(u64::try_from(cpu.tv_sec).unwrap_or_default());
    // In pages: the second number is what is in memory.
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    if let Some(pages) = pages {
        let page = u64::try_from(rustix::param::page_size()).unwrap_or_default();
        metrics::gauge!(metric::PROCESS_MEMORY).set(number(pages.saturating_mul(page)));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge takes no whole numbers")]
fn number(count: u64) -> f64 {
    count as f64
}

fn seconds(moment: UnixMs) -> f64 {
    number(moment.0) / 1000.0
}
