//! Binds the provider's listeners and serves them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::context::jobs::JobTable;
use crate::context::provider::{ContextAddresses, Provider, check_keys};
use crate::context::submit::endpoint as submit;
use crate::context::{delivery, poll};

/// Starts the provider; `samples` is the origin of the sample files.
pub(crate) async fn start(
    settings: &Settings,
    samples: &str,
    listeners: &mut JoinSet<()>,
) -> io::Result<Arc<Provider>> {
    check_keys(settings)?;
    let ports = settings.ports;
    let (at_submit, at_poll) = (Listener::bind(ports.submit).await?, Listener::bind(ports.poll).await?);
    let (at_delivery, at_record) =
        (Listener::bind(ports.delivery).await?, Listener::bind(ports.record).await?);
    let addresses = ContextAddresses {
        submit: at_submit.origin.clone(),
        poll: at_poll.origin.clone(),
        delivery: at_delivery.origin.clone(),
        samples: samples.to_owned(),
        record: at_record.origin.clone(),
    };
    let provider = Provider::new(settings, addresses, JobTable::new(settings))?;
    listeners.spawn(at_submit.serve(&provider, submit::handle));
    listeners.spawn(at_poll.serve(&provider, poll::handle));
    listeners.spawn(at_delivery.serve(&provider, delivery::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}
