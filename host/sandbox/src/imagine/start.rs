//! Binds the provider's listeners and serves them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::provider::{ImagineAddresses, Provider};
use super::table::CallTable;
use super::{endpoint, files};
use crate::common::server::Listener;
use crate::common::settings::Settings;

/// Starts the provider; `listeners` ends it.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let at_api = Listener::bind(ports.imagine).await?;
    let at_files = Listener::bind(ports.imagine_files).await?;
    let at_record = Listener::bind(ports.imagine_record).await?;
    let addresses = ImagineAddresses {
        api: at_api.origin.clone(),
        files: at_files.origin.clone(),
        record: at_record.origin.clone(),
    };
    let provider = Provider::new(settings, addresses, CallTable::default())?;
    listeners.spawn(at_api.serve(&provider, endpoint::handle));
    listeners.spawn(at_files.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}
