//! Keeps the lease of the one at work, over a session of its own: the writer's may be busy for long.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::metric;
use tokio::sync::watch;
use tokio::time as clock;

use super::fleet::{Node, Renewal};
use super::home::replaced;
use super::session::{Host, Session};
use super::standby::DOUBLED;
use crate::error::StoreError;
use crate::lease::RENEWAL;
use crate::wait::WriterWait;

/// A renewal takes no longer: another session may be better.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between a renewal that failed and the next.
const AGAIN: Duration = Duration::from_millis(500);

/// What renews.
pub(crate) struct Keeper {
    pub(super) server: Host,
    pub(super) node: Node,
    /// What the others are told of it from now on; `None`: what `node` says.
    pub(super) configuration: watch::Receiver<Option<String>>,
    pub(super) epoch: i64,
    pub(super) wait: Arc<WriterWait>,
}

impl Keeper {
    /// Renews until another gateway has taken the place of this one, whose store then fails.
    pub(crate) async fn keep(mut self, failure: watch::Sender<Option<StoreError>>) {
        let (mut client, mut stood, mut was_doubled) = (None, true, false);
        loop {
            let told = self.configuration.borrow().clone();
            if let Some(configuration) = told {
                self.node.configuration = configuration;
            }
            // Each host of the address has a time limit of its own.
            let connected = self.connected(&mut client).await;
            let sent = self.wait.now();
            let renewed = match connected {
                Ok(client) => clock::timeout(PATIENCE, self.renew(client)).await,
                Err(error) => Ok(Err(error)),
            };
            let pause = match renewed {
                Ok(Ok(Renewal { stands: true, is_doubled })) => {
                    self.wait.renew_lease(sent);
                    if is_doubled && !was_doubled {
                        tracing::warn!(name = self.node.name, "{DOUBLED}");
                    }
                    was_doubled = is_doubled;
                    RENEWAL.saturating_sub(self.wait.now().since(sent))
                }
                Ok(Ok(Renewal { stands: false, .. })) => {
                    let error = replaced();
                    tracing::error!(%error, "the store failed; the process must stop");
                    failure.send_if_modified(|reason| {
                        let first = reason.is_none();
                        reason.get_or_insert(error);
                        first
                    });
                    return;
                }
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the lease was not renewed");
                    client = None;
                    AGAIN
                }
                Err(_) => {
                    client = None;
                    AGAIN
                }
            };
            let stands = self.wait.lease_stands();
            if stands != stood {
                stood = stands;
                self.tell(stands);
            }
            metrics::gauge!(metric::LEASE_SECONDS).set(self.wait.lease_left().as_secs_f64());
            drop(clock::timeout(pause, std::future::pending::<()>()).await);
        }
    }

    async fn connected<'c>(&self, client: &'c mut Option<Session>) -> Result<&'c Session, StoreError> {
        if client.as_ref().is_none_or(Session::is_closed) {
            *client = None;
        }
        match client {
            Some(client) => Ok(client),
            none => Ok(none.insert(self.server.session().await?.client)),
        }
    }

    async fn renew(&self, client: &Session) -> Result<Renewal, StoreError> {
        let renewed = client.renew(&self.node, self.epoch).await;
        renewed.map_err(|error| error.of_store("a renewal of the lease"))
    }

    fn tell(&self, stands: bool) {
        if stands {
            tracing::info!(database = %self.server, "the lease is renewed again: work goes on");
        } else {
            tracing::error!(
                database = %self.server,
                "the lease could not be renewed for 8 s, and another gateway may take over: nothing new begins until it is"
            );
        }
    }
}
