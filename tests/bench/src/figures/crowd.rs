//! Many streams open at once, held by the provider after their first words: the memory of each, and what of it is given
//! back after their end.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::figures::text::{TextSetup, body};
use crate::gateway::pause;
use crate::report::{kibibytes, line, mebibytes};

/// Twice as long as the allocator keeps what is free.
const GIVEN_BACK: Duration = Duration::from_secs(20);

/// Opens them, looks, lets them end, and looks again.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(1_000);
    let setup = TextSetup::start(arguments, true).await;
    pause(Duration::from_secs(1)).await;
    let (idle, own) = (setup.gateway.process().resident(), setup.gateway.process().own());
    let body = body(true);
    let opened = async {
        setup.provider.wait_for(count).await;
        // What came before the provider's silence is on its way to the clients.
        pause(Duration::from_secs(1)).await;
        let grown = setup.gateway.process().resident().saturating_sub(idle);
        let own_grown = setup.gateway.process().own().saturating_sub(own);
        setup.provider.open();
        (grown, own_grown)
    };
    let (_, (grown, own_grown)) = tokio::join!(setup.through(count, count, &body), opened);
    line("streams open at once", count);
    line("memory when idle", mebibytes(idle));
    line("memory above idle", mebibytes(grown));
    line("memory, each stream", kibibytes(grown / count as u64));
    line("  of it no pages of files", kibibytes(own_grown / count as u64));
    pause(GIVEN_BACK).await;
    let kept = setup.gateway.process().own().saturating_sub(own);
    line(
        &format!("above idle {} s after their end, no pages of files", GIVEN_BACK.as_secs()),
        mebibytes(kept),
    );
    setup.gateway.harness.expect_sound_ledger().await;
}
