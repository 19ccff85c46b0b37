//! One provider of a configuration: its checked rules, and the HTTP clients that keep its connections.
//!
//! Never changes. A permit holds the provider that it was taken for, so a call ends under the rules, and at the origins,
//! that its credentials belong to, whatever is configured meanwhile.

use std::collections::HashSet;
use std::sync::Arc;

use gatehouse_model::{Affinity, Clock, Digest, Seed};

use crate::auth::token_endpoint::TokenAccess;
use crate::client::connect::{Connector, Private};
use crate::client::dial::Dial;
use crate::client::exchange::{self, Http};
use crate::client::resolve::Resolve;
use crate::config::check::Checked;
use crate::config::origin::Pattern;
use crate::config::proxy::Proxy;

/// 96 bits: two accounts of one gateway never share an affinity by chance.
const AFFINITY_BYTES: usize = 12;

/// How connections are made.
pub(crate) struct Network {
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) dial: Arc<dyn Dial>,
    pub(crate) tls: Arc<rustls::ClientConfig>,
    /// What leaves through it where a provider does not say otherwise.
    pub(crate) proxy: Option<Arc<Proxy>>,
}

/// One provider: its rules and its clients.
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) checked: Checked,
    /// What its connections go through.
    proxy: Option<Arc<Proxy>>,
    /// For calls: may be private where the operator wrote the origin out.
    pub(crate) calls: Http,
    /// For results, likewise.
    pub(crate) media: Http,
    /// For the tokens of its service accounts, likewise.
    pub(crate) tokens: TokenAccess,
}

/// Connections to one host that are kept. Due tasks come in bursts; the caller that finds no connection kept makes one, and
/// over TLS that costs more than the call.
const MAX_IDLE: usize = 128;

impl Network {
    /// A client that keeps no connection. A kept one counts nowhere, and clients' links lead to any number of hosts.
    pub(crate) fn client_without_pool(&self, private: Private, connect_timeout: std::time::Duration) -> Http {
        exchange::client(self.connector((private, self.proxy.clone()), connect_timeout), 0)
    }

    /// A client of one service of the operator, through the proxy of all.
    pub(crate) fn client_of_service(&self, private: Private, connect_timeout: std::time::Duration) -> Http {
        self.client((private, self.proxy.clone()), connect_timeout)
    }

    fn client(&self, through: (Private, Option<Arc<Proxy>>), connect_timeout: std::time::Duration) -> Http {
        exchange::client(self.connector(through, connect_timeout), MAX_IDLE)
    }

    fn connector(
        &self,
        through: (Private, Option<Arc<Proxy>>),
        connect_timeout: std::time::Duration,
    ) -> Connector {
        let (resolver, dial, tls) = (self.resolver.clone(), self.dial.clone(), self.tls.clone());
        Connector::new(resolver, dial, tls, through, connect_timeout)
    }
}

impl Provider {
    /// Keeps the connections of the configuration `before` where they are made in the same way.
    pub(crate) fn new(
        name: &str,
        checked: Checked,
        network: &Network,
        before: Option<&Self>,
        (clock, seed): (&Arc<dyn Clock>, &Arc<dyn Seed>),
    ) -> Self {
        let timeout = checked.connect_timeout;
        let proxy = checked.proxy.clone().unwrap_or_else(|| network.proxy.clone());
        let before =
            before.filter(|before| before.checked.connect_timeout == timeout && before.proxy == proxy);
        let client = |own: &[Pattern], kept: Option<(&[Pattern], &Http)>| {
            let private = written_out(own);
            match kept.filter(|(origins, _)| written_out(origins) == private) {
                Some((_, http)) => http.clone(),
                None => network.client((private, proxy.clone()), timeout),
            }
        };
        let calls =
            client(&checked.origins, before.map(|before| (&before.checked.origins[..], &before.calls)));
        let media = client(
            &checked.media_origins,
            before.map(|before| (&before.checked.media_origins[..], &before.media)),
        );
        let http = client(
            &checked.token_origins,
            before.map(|before| (&before.checked.token_origins[..], &before.tokens.http)),
        );
        let tokens = TokenAccess { http, clock: Arc::clone(clock), seed: Arc::clone(seed) };
        Self { name: name.to_owned(), checked, proxy, calls, media, tokens }
    }

    /// An account as plugins name it: a digest, so that an operator's name for an account reaches no client. The same at
    /// all providers that share their accounts.
    pub(crate) fn affinity(&self, account: &str) -> Affinity {
        affinity(self.checked.accounts_of.as_ref().unwrap_or(&self.name), account)
    }

    /// Whether both have their accounts at the same API, where they authenticate in the same way unless they say otherwise.
    pub(crate) fn is_same_api(&self, other: &Self) -> bool {
        self.checked.base == other.checked.base && self.checked.auth == other.checked.auth
    }
}

/// The affinity of an account of a provider that shares none.
#[must_use]
pub fn affinity(provider: &str, account: &str) -> Affinity {
    Digest::of_fields(&[b"affinity", provider.as_bytes(), account.as_bytes()]).prefix(AFFINITY_BYTES)
}

/// Hosts an operator wrote out in full may be private: that is how a provider on the same machine is meant.
fn written_out(patterns: &[Pattern]) -> Private {
    let exact = patterns.iter().filter_map(Pattern::exact);
    exact.map(|origin| (origin.bare_host().to_owned(), Some(origin.port()))).collect::<HashSet<_>>()
}
