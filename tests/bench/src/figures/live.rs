//! Many live tasks at once: the memory they take, what they cost while they are polled, how late a poll comes, and a start
//! with them.

use std::time::Duration;

use gatehouse_model::metric;

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, pause, request};
use crate::image_provider::Jobs;
use crate::load;
use crate::report::{self, line, mebibytes, micros, millis};

/// After that long nothing of the submissions is under way.
const SETTLED: Duration = Duration::from_secs(60);

/// Submits the tasks, and then only watches.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(100_000);
    let mut gateway = BenchGateway::start(arguments, 64, Jobs::Endless, arguments.pace()).await;
    pause(Duration::from_secs(1)).await;
    let idle = gateway.process().resident();
    let load = gateway.submit(count, request()).await;
    line("submissions accepted", load.rate());
    line("receipt p99", millis(load.quantile(0.99)));
    gateway.provider.counts().submissions.reach(count).await;
    // By then each task was polled once (a wait is stretched by up to a quarter) and the polls have spread. With a
    // longer pace no poll is due, and the figure is that of idle tasks.
    pause(arguments.pace().mul_f64(1.25).min(SETTLED)).await;

    let polls = &gateway.provider.counts().polls;
    let (metrics, polled, before) = (gateway.metrics().await, polls.get(), gateway.process().cpu());
    pause(arguments.window()).await;
    let cpu = gateway.process().cpu().since(&before);
    let polls = polls.get() - polled;
    let after = gateway.metrics().await;
    line("live tasks", format!("{:.0}", after.sum(metric::TASKS_LIVE)));
    line("memory when idle", mebibytes(idle));
    line("memory above idle", mebibytes(gateway.process().resident().saturating_sub(idle)));
    line("polls", load::rate(polls, arguments.window()));
    let share = cpu.whole().as_secs_f64() / arguments.window().as_secs_f64() * 100.0;
    line("CPU", format!("{share:.1} % of a core"));
    line("CPU, each poll", micros(report::each(cpu.whole(), polls)));
    for (name, span) in cpu.threads() {
        let share = span.as_secs_f64() / arguments.window().as_secs_f64() * 100.0;
        line(&format!("  of it {name}"), format!("{share:.1} % of a core"));
    }
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        line(&format!("lateness {name}"), after.bound_since(&metrics, metric::LATENESS_SECONDS, share));
    }
    let start = super::start::restarted(&mut gateway).await;
    line("warm start with them to ready", millis(start.ready));
    line("CPU until ready", millis(start.used));
}
