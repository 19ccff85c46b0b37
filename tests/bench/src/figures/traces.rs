//! What traces cost a text request: three gateways in one run, one without traces, one that samples a hundredth of the requests and
//! one that samples all, loaded in turn. Their ratio is the figure; machines differ.

use std::time::Duration;

use gatehouse_harness::{Provider, reply};

use super::text::{TextSetup, body};
use crate::arguments::Arguments;
use crate::gateway::pause;
use crate::report::{each, line, micros};

const ROUNDS: usize = 7;
/// Spans leave within a second.
const SENT: Duration = Duration::from_millis(1500);

pub(crate) async fn measure(arguments: &Arguments) {
    let (count, connections) = (arguments.count(4_000), arguments.connections(16));
    let collector = Provider::start(|_| reply(200, &[], "")).await;
    let mut gateways = Vec::new();
    for (name, sample) in [("off", None), ("1 %", Some("0.01")), ("100 %", Some("1.0"))] {
        let more = sample.map_or_else(String::new, |sample| {
            format!("[traces]\nendpoint = \"{}\"\nsample = {sample}\nqueue = 1000000\n\n", collector.url())
        });
        let setup = TextSetup::with(arguments, false, &more).await;
        setup.through(connections, count, &body(false)).await;
        gateways.push((name, setup, Vec::new()));
    }
    for _ in 0..ROUNDS {
        for (_, setup, spent) in &mut gateways {
            pause(SENT).await;
            let before = setup.gateway.process().cpu();
            setup.through(connections, count, &body(false)).await;
            pause(SENT).await;
            spent.push(each(setup.gateway.process().cpu().since(&before).whole(), count));
        }
    }
    line("connections, requests a round, rounds", format!("{connections}, {count}, {ROUNDS}"));
    for (name, _, spent) in &mut gateways {
        spent.sort_unstable();
        let (least, middle) = (micros(spent[0]), micros(spent[ROUNDS / 2]));
        line(
            &format!("CPU, each request, traces {name}"),
            format!("{middle} in the middle, {least} at least"),
        );
    }
    line("batches that the collector took", collector.received().len());
}
