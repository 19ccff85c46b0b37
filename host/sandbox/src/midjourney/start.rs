//! The start of the proxy: binds its listeners and serves them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::midjourney::provider::{MidjourneyAddresses, Provider};
use crate::midjourney::tasks::table::TaskTable;
use crate::midjourney::{api, files};

/// Binds the listeners and serves them in `listeners`.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let at_api = Listener::bind(ports.midjourney).await?;
    let at_files = Listener::bind(ports.midjourney_files).await?;
    let at_record = Listener::bind(ports.midjourney_record).await?;
    let addresses = MidjourneyAddresses {
        api: at_api.origin.clone(),
        files: at_files.origin.clone(),
        record: at_record.origin.clone(),
    };
    let provider = Provider::new(settings, addresses, TaskTable::new(settings))?;
    listeners.spawn(at_api.serve(&provider, api::handle));
    listeners.spawn(at_files.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}
