//! Binds the provider's listeners and begins to serve them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::veo::api::{files, token, vertex};
use crate::veo::operations::Operations;
use crate::veo::provider::{Provider, VeoAddresses};

/// Starts the provider.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let (at_vertex, at_token) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let (at_storage, at_record) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let addresses = VeoAddresses {
        vertex: format!("{}{}", at_vertex.origin, vertex::BASE),
        token: format!("{}/token", at_token.origin),
        storage: at_storage.origin.clone(),
        record: format!("{}/truth", at_record.origin),
    };
    let provider = Provider::new(settings, addresses, Operations::new(settings)?)?;
    listeners.spawn(at_vertex.serve(&provider, vertex::handle));
    listeners.spawn(at_token.serve(&provider, token::handle));
    listeners.spawn(at_storage.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}
