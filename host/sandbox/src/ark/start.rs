//! Binds the provider's listeners and begins to serve them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::ark::control::endpoint as control;
use crate::ark::data::endpoint as data;
use crate::ark::files;
use crate::ark::provider::{ArkAddresses, ArkState, Provider};
use crate::common::server::Listener;
use crate::common::settings::Settings;

/// Starts the provider; `samples` is the origin of the sample files.
pub(crate) async fn start(
    settings: &Settings,
    samples: &str,
    listeners: &mut JoinSet<()>,
) -> io::Result<Arc<Provider>> {
    let (at_data, at_control) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let (at_files, at_record) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let addresses = ArkAddresses {
        data: format!("{}/api/v3", at_data.origin),
        control: at_control.origin.clone(),
        files: at_files.origin.clone(),
        samples: samples.to_owned(),
        record: at_record.origin.clone(),
    };
    let provider = Provider::new(settings, addresses, ArkState::default())?;
    listeners.spawn(at_data.serve(&provider, data::handle));
    listeners.spawn(at_control.serve(&provider, control::handle));
    listeners.spawn(at_files.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}
