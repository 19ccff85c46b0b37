//! The switch that keeps new work away from an account.
//!
//! A drained account gets no new task and no new text request, except those that are bound to it: follow-ups of what it
//! made exist there alone. What is in flight goes on and is polled. An account that is let in again is also taken as whole,
//! whatever its provider refused before. The switch outlives a change of the configuration, and
//! ends with the process.

use std::sync::Arc;

use gatehouse_model::UnixMs;

use crate::pool::accounts::Pool;
use crate::upstream::Upstream;

impl Pool {
    /// Switches an account; what it was before, `None` where there is no such account.
    fn drain(self: &Arc<Self>, account: &str, drained: bool) -> Option<bool> {
        let index = self.accounts().iter().position(|known| known.name == account)?;
        let mut state = self.lock();
        let account = self.state(&mut state, index);
        let before = std::mem::replace(&mut account.drained, drained);
        if !drained {
            // The operator has seen to what the provider refused: another credential, or credit.
            account.refused_until = UnixMs(0);
        }
        drop(state);
        if !drained {
            self.serve_waiting();
        }
        Some(before)
    }
}

impl Upstream {
    /// Keeps new work away from an account, or lets it come again. Returns what it was before; `None` where there is no
    /// such account.
    #[must_use]
    pub fn drain(&self, provider: &str, account: &str, drained: bool) -> Option<bool> {
        self.pool(provider)?.drain(account, drained)
    }
}
