//! The driver as the edge sees it. In the edge's own tests a scripted one takes its place, so that they run over real
//! sockets without a store: it has the methods of the driver that are called here. Adds no behaviour.

use gatehouse_driver::StoreError;

use crate::errors::{Kind, Refusal};

#[cfg(test)]
pub(crate) use crate::tests::support::backend::ScriptedBackend as Backend;
#[cfg(not(test))]
pub(crate) use gatehouse_driver::Driver as Backend;

/// The refusal for a store error. `Closed` passes too: another process follows.
pub(crate) fn store_refusal(error: StoreError) -> Refusal {
    match error {
        StoreError::Busy => Refusal::new(Kind::Busy, "the gateway is busy, retry in a moment"),
        StoreError::Closed => Refusal::new(Kind::Draining, "the gateway is restarting, retry in a moment"),
        StoreError::Unavailable => {
            Refusal::new(Kind::Busy, "the gateway's store cannot be reached now, retry in a moment")
        }
        StoreError::NoRoom => Refusal::new(Kind::DiskFull, "the gateway's disk is full, retry later"),
        other => Refusal::internal(other),
    }
}
