//! Many streams open at once, held up by the provider after their first words: the memory each takes.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::figures::text::{Desk, body};
use crate::house::watch;
use crate::report::{kibibytes, line, mebibytes};

/// Opens them, looks, and lets them end.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(1_000);
    let desk = Desk::start(arguments, true).await;
    watch(Duration::from_secs(1)).await;
    let idle = desk.stand.process().resident();
    let body = body(true);
    let opened = async {
        desk.writer.wait_for(count).await;
        // What came before the provider's silence is on its way to the clients.
        watch(Duration::from_secs(1)).await;
        let grown = desk.stand.process().resident().saturating_sub(idle);
        desk.writer.open();
        grown
    };
    let (_, grown) = tokio::join!(desk.through(count, count, &body), opened);
    line("streams open at once", count);
    line("memory when idle", mebibytes(idle));
    line("memory above idle", mebibytes(grown));
    line("memory, each stream", kibibytes(grown / count as u64));
    desk.stand.house.expect_sound_ledger().await;
}
