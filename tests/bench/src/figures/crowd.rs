//! Many streams open at once, held by the provider after their first words: the memory of each.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::figures::text::{TextSetup, body};
use crate::gateway::pause;
use crate::report::{kibibytes, line, mebibytes};

/// Opens them, looks, and lets them end.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(1_000);
    let setup = TextSetup::start(arguments, true).await;
    pause(Duration::from_secs(1)).await;
    let idle = setup.gateway.process().resident();
    let body = body(true);
    let opened = async {
        setup.provider.wait_for(count).await;
        // What came before the provider's silence is on its way to the clients.
        pause(Duration::from_secs(1)).await;
        let grown = setup.gateway.process().resident().saturating_sub(idle);
        setup.provider.open();
        grown
    };
    let (_, grown) = tokio::join!(setup.through(count, count, &body), opened);
    line("streams open at once", count);
    line("memory when idle", mebibytes(idle));
    line("memory above idle", mebibytes(grown));
    line("memory, each stream", kibibytes(grown / count as u64));
    setup.gateway.harness.expect_sound_ledger().await;
}
