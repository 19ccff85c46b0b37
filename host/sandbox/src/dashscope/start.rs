//! Starts the provider: its listeners and the handler behind each.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::records::{RecordsEndpoint, record};
use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::dashscope::endpoint::ApiEndpoint;
use crate::dashscope::files::FilesEndpoint;
use crate::dashscope::provider::{DashscopeAddresses, Provider};

/// Binds the provider's listeners and serves them.
pub(crate) async fn start(
    settings: &Settings,
    samples: &str,
    listeners: &mut JoinSet<()>,
) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let (api, files) = (Listener::bind(ports.dashscope).await?, Listener::bind(ports.dashscope_files).await?);
    let records = Listener::bind(ports.dashscope_record).await?;
    let addresses = DashscopeAddresses {
        api: api.origin.clone(),
        files: files.origin.clone(),
        record: format!("{}/truth", records.origin),
    };
    let provider = Arc::new(Provider::new(settings, addresses, samples)?);
    let recorded = Arc::clone(&provider);
    listeners.spawn(api.serve(Arc::new(ApiEndpoint(Arc::clone(&provider)))));
    listeners.spawn(files.serve(Arc::new(FilesEndpoint(Arc::clone(&provider)))));
    listeners
        .spawn(records.serve(Arc::new(RecordsEndpoint([("/truth", record(move || recorded.record()))]))));
    Ok(provider)
}
