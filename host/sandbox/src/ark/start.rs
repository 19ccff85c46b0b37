//! Binds the provider's listeners and begins to serve them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::ark::control::endpoint::ControlEndpoint;
use crate::ark::data::endpoint::DataEndpoint;
use crate::ark::files::FilesEndpoint;
use crate::ark::provider::{ArkAddresses, Provider};
use crate::common::records::{RecordsEndpoint, record};
use crate::common::server::Listener;
use crate::common::settings::Settings;

/// Starts the provider; `samples` is the origin of the sample files.
pub(crate) async fn start(
    settings: &Settings,
    samples: &str,
    listeners: &mut JoinSet<()>,
) -> io::Result<Arc<Provider>> {
    let (data, control) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let (files, records) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let addresses = ArkAddresses {
        data: format!("{}/api/v3", data.origin),
        control: control.origin.clone(),
        files: files.origin.clone(),
        samples: samples.to_owned(),
        record: records.origin.clone(),
    };
    let provider = Arc::new(Provider::new(settings.clone(), addresses)?);
    let of_record = Arc::clone(&provider);
    listeners.spawn(data.serve(Arc::new(DataEndpoint(Arc::clone(&provider)))));
    listeners.spawn(control.serve(Arc::new(ControlEndpoint(Arc::clone(&provider)))));
    listeners.spawn(files.serve(Arc::new(FilesEndpoint(Arc::clone(&provider)))));
    listeners
        .spawn(records.serve(Arc::new(RecordsEndpoint([("/truth", record(move || of_record.record()))]))));
    Ok(provider)
}
