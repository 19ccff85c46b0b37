//! Binds the provider's listeners and begins to serve them.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::common::records::{RecordsEndpoint, record};
use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::veo::api::storage::StorageEndpoint;
use crate::veo::api::token::TokenEndpoint;
use crate::veo::api::vertex::{self, VertexEndpoint};
use crate::veo::provider::{Provider, VeoAddresses};

/// Starts the provider.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let (vertex, token) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let (storage, records) = (Listener::bind(0).await?, Listener::bind(0).await?);
    let addresses = VeoAddresses {
        vertex: format!("{}{}", vertex.origin, vertex::BASE),
        token: format!("{}/token", token.origin),
        storage: storage.origin.clone(),
        record: format!("{}/truth", records.origin),
    };
    let provider = Arc::new(Provider::new(settings, addresses)?);
    let recorded = Arc::clone(&provider);
    listeners.spawn(vertex.serve(Arc::new(VertexEndpoint(Arc::clone(&provider)))));
    listeners.spawn(token.serve(Arc::new(TokenEndpoint(Arc::clone(&provider)))));
    listeners.spawn(storage.serve(Arc::new(StorageEndpoint(Arc::clone(&provider)))));
    listeners
        .spawn(records.serve(Arc::new(RecordsEndpoint([("/truth", record(move || recorded.record()))]))));
    Ok(provider)
}
