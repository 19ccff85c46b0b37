//! What a gateway is within a fleet of several over one database.

use std::sync::{Arc, Weak};

use gatehouse_store::SimulatedServer;

/// For how long a gateway runs before the other one does, in ms.
pub(crate) const TURN: u64 = 10;
/// Between two renewals, in ms.
pub(crate) const RENEWAL: u64 = 1_000;
/// Nothing begins so long after the last renewal, in ms.
const EFFECTS: u64 = 8_000;

/// One gateway of several.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    /// Which knows of the simulation.
    server: Weak<SimulatedServer>,
}

impl Member {
    pub(crate) fn new(name: &'static str, server: &Arc<SimulatedServer>) -> Self {
        Self { name, server: Arc::downgrade(server) }
    }

    /// How many milliseconds ago its lease was renewed, where a call may reach a provider now.
    ///
    /// # Errors
    /// Its lease was not renewed for 8 s by the clock of the database, or is another one's.
    pub(crate) fn may_call(&self) -> Result<u64, String> {
        match self.server.upgrade().and_then(|server| server.lease_age(self.name)) {
            Some(age) if age <= EFFECTS + TURN => Ok(age),
            age => Err(format!(
                "effects: {} calls a provider, and its lease was renewed {age:?} ms ago",
                self.name
            )),
        }
    }
}
