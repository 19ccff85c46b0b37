//! Binds the provider's listeners and serves them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::endpoint::ApiEndpoint;
use super::files::FilesEndpoint;
use super::provider::{ImagineAddresses, Provider};
use crate::common::records::{RecordsEndpoint, record};
use crate::common::server::Listener;
use crate::common::settings::Settings;

/// Starts the provider; `listeners` ends it.
///
/// # Errors
/// A port that cannot be bound.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let api = Listener::bind(ports.imagine).await?;
    let files = Listener::bind(ports.imagine_files).await?;
    let records = Listener::bind(ports.imagine_record).await?;
    let addresses = ImagineAddresses {
        api: api.origin.clone(),
        files: files.origin.clone(),
        record: records.origin.clone(),
    };
    let provider = Arc::new(Provider::new(settings.clone(), addresses));
    let recorded = Arc::clone(&provider);
    listeners.spawn(api.serve(Arc::new(ApiEndpoint(Arc::clone(&provider)))));
    listeners.spawn(files.serve(Arc::new(FilesEndpoint(Arc::clone(&provider)))));
    listeners
        .spawn(records.serve(Arc::new(RecordsEndpoint([("/truth", record(move || recorded.record()))]))));
    Ok(provider)
}
