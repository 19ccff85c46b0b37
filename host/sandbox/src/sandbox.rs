//! The whole sandbox: starts every simulated provider and stops them again.
//!
//! Knows which listeners there are and who answers on them, and nothing of what they say.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::context::{ContextAddresses, Provider, Truth};
use crate::samples::Samples;
use crate::server::Door;
use crate::settings::Settings;

/// The simulated providers, running. Dropping it closes every listener and connection.
pub struct Sandbox {
    context: Arc<Provider>,
    doors: JoinSet<()>,
}

impl Sandbox {
    /// Binds all listeners on 127.0.0.1 and begins to serve.
    ///
    /// # Errors
    /// A port that cannot be bound, a key of the wrong form, or no random source.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let ports = settings.ports;
        let (submit, poll) = (Door::bind(ports.submit).await?, Door::bind(ports.poll).await?);
        let (delivery, samples) = (Door::bind(ports.delivery).await?, Door::bind(ports.samples).await?);
        let truth = Door::bind(ports.truth).await?;
        let addresses = ContextAddresses {
            submit: submit.origin.clone(),
            poll: poll.origin.clone(),
            delivery: delivery.origin.clone(),
            samples: samples.origin.clone(),
            truth: truth.origin.clone(),
        };
        let sample_files = Arc::new(Samples::new(samples.origin.clone()));
        let context = Arc::new(Provider::new(settings, addresses)?);
        let mut doors = JoinSet::new();
        doors.spawn(submit.serve(Arc::new(context.submit_site())));
        doors.spawn(poll.serve(Arc::new(context.poll_site())));
        doors.spawn(delivery.serve(Arc::new(context.delivery_site())));
        doors.spawn(truth.serve(Arc::new(context.truth_site())));
        doors.spawn(samples.serve(sample_files));
        Ok(Self { context, doors })
    }

    /// Where the context-image provider listens.
    #[must_use]
    pub fn context(&self) -> &ContextAddresses {
        self.context.addresses()
    }

    /// What the context-image provider knows to be true.
    #[must_use]
    pub fn context_truth(&self) -> Truth {
        self.context.truth()
    }

    /// Closes every listener and connection, without waiting for requests under way: a hung one never ends.
    pub async fn stop(mut self) {
        self.doors.shutdown().await;
    }
}
