//! One provider of a configuration: its checked rules, and the HTTP clients that keep its connections.
//!
//! Never changes. A permit holds the provider that it was taken for, so a call ends under the rules, and at the origins,
//! that its credentials belong to, whatever is configured meanwhile.

use std::sync::Arc;

use gatehouse_model::{Affinity, Clock, Seed};

use crate::auth::token_endpoint::TokenAccess;
use crate::client::connect::{Gate, Private};
use crate::client::exchange::Http;
use crate::client::network::{MAX_IDLE, Network};
use crate::client::origin::{Origin, Pattern};
use crate::client::proxy::Proxy;
use crate::config::check::{Checked, affinity};

/// One provider: its rules and its clients.
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) checked: Checked,
    /// What its connections go through.
    proxy: Option<Arc<Proxy>>,
    /// For calls: may be private where the operator wrote the origin out.
    pub(crate) calls: Http,
    /// What calls wait for.
    pub(crate) gate: Gate,
    /// For results, likewise.
    pub(crate) media: Http,
    /// For the tokens of its service accounts, likewise.
    pub(crate) tokens: TokenAccess,
}

impl Provider {
    /// Keeps the connections of the configuration `before` where they are made in the same way.
    pub(crate) fn new(
        name: &str,
        checked: Checked,
        network: &Network,
        gate: &Gate,
        before: Option<&Self>,
        clock: &Arc<dyn Clock>,
        seed: &Arc<dyn Seed>,
    ) -> Self {
        let timeout = checked.connect_timeout;
        let proxy = checked.proxy.clone().unwrap_or_else(|| network.proxy.clone());
        let network = network.through(proxy.clone());
        let before =
            before.filter(|before| before.checked.connect_timeout == timeout && before.proxy == proxy);
        let client = |network: &Network, origins: fn(&Checked) -> &Vec<Pattern>, http: fn(&Self) -> &Http| {
            let private = written_out(origins(&checked));
            match before.filter(|before| written_out(origins(&before.checked)) == private) {
                Some(before) => http(before).clone(),
                None => network.client(private, timeout, MAX_IDLE),
            }
        };
        let calls = client(&network.behind(gate), |checked| &checked.origins, |before| &before.calls);
        let media = client(&network, |checked| &checked.media_origins, |before| &before.media);
        let http = client(&network, |checked| &checked.token_origins, |before| &before.tokens.http);
        let tokens = TokenAccess { http, clock: Arc::clone(clock), seed: Arc::clone(seed) };
        Self { name: name.to_owned(), checked, proxy, calls, gate: gate.clone(), media, tokens }
    }

    /// An account as plugins name it. The same at all providers that share their accounts.
    pub(crate) fn affinity(&self, account: &str) -> Affinity {
        affinity(self.checked.accounts_of.as_ref().unwrap_or(&self.name), account)
    }

    /// Whether both have their accounts at the same API, where they authenticate in the same way unless they say otherwise.
    pub(crate) fn is_same_api(&self, other: &Self) -> bool {
        self.checked.base == other.checked.base && self.checked.auth == other.checked.auth
    }
}

/// Hosts an operator wrote out in full may be private: that is how a provider on the same machine is meant.
fn written_out(patterns: &[Pattern]) -> Private {
    patterns.iter().filter_map(Pattern::exact).map(Origin::as_private).collect()
}
