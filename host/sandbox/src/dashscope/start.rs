//! Starts the provider: its listeners, and what answers at each.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::dashscope::provider::{DashscopeAddresses, Provider};
use crate::dashscope::tasks::TaskTable;
use crate::dashscope::{endpoint, files};

/// Binds the provider's listeners and serves them.
pub(crate) async fn start(
    settings: &Settings,
    samples: &str,
    listeners: &mut JoinSet<()>,
) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let at_api = Listener::bind(ports.dashscope).await?;
    let at_files = Listener::bind(ports.dashscope_files).await?;
    let at_record = Listener::bind(ports.dashscope_record).await?;
    let addresses = DashscopeAddresses {
        api: at_api.origin.clone(),
        files: at_files.origin.clone(),
        record: format!("{}/truth", at_record.origin),
    };
    let provider = Provider::new(settings, addresses, TaskTable::new(settings, samples))?;
    listeners.spawn(at_api.serve(&provider, endpoint::handle));
    listeners.spawn(at_files.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}
