//! The start of the proxy: binds its listeners and serves them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::records::{RecordsEndpoint, record};
use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::midjourney::api::ApiEndpoint;
use crate::midjourney::files::FilesEndpoint;
use crate::midjourney::provider::{MidjourneyAddresses, Provider};

/// Binds the listeners and serves them in `listeners`.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let api = Listener::bind(ports.midjourney).await?;
    let files = Listener::bind(ports.midjourney_files).await?;
    let records = Listener::bind(ports.midjourney_record).await?;
    let addresses = MidjourneyAddresses {
        api: api.origin.clone(),
        files: files.origin.clone(),
        record: records.origin.clone(),
    };
    let provider = Arc::new(Provider::new(settings, addresses)?);
    let recorded = Arc::clone(&provider);
    let paths = [("/truth", record(move || recorded.record()))];
    listeners.spawn(api.serve(Arc::new(ApiEndpoint(Arc::clone(&provider)))));
    listeners.spawn(files.serve(Arc::new(FilesEndpoint(Arc::clone(&provider)))));
    listeners.spawn(records.serve(Arc::new(RecordsEndpoint(paths))));
    Ok(provider)
}
