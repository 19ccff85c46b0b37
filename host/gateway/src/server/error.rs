//! Errors of the start, and the exit code of each.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use gatehouse_driver::StartError;
use gatehouse_store::OpenError;
use gatehouse_upstream::ConfigError;

use crate::data_folder::DataError;
use crate::plugins::built_in::BuiltInError;
use crate::sandbox_mode::SandboxKeysError;
use crate::terminal::Exit;

/// Why the gateway did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ServeError {
    #[error("admin.listen {address}: {source}")]
    Admin { address: SocketAddr, source: io::Error },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Config(Vec<ConfigError>),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Database(#[from] ConfigError),
    #[error("defaults of plugins: {0}")]
    Defaults(io::Error),
    #[error("admin.json in the data folder: {0}")]
    EndpointFile(io::Error),
    #[error(transparent)]
    Driver(#[from] StartError),
    #[error(transparent)]
    Certificates(#[from] gatehouse_admin::TlsError),
    #[error(transparent)]
    Edge(#[from] gatehouse_edge::Error),
    #[error(transparent)]
    BuiltIn(#[from] BuiltInError),
    #[error("plugins: {0}")]
    Plugins(#[from] gatehouse_runtime::OpenError),
    #[error("plugins.watch_folder {}: {source}", folder.display())]
    WatchFolder { folder: PathBuf, source: io::Error },
    #[error("log.level: {0}")]
    Logs(String),
    #[error("server.acme.{0}")]
    Acme(String),
    #[error("{0}")]
    Traces(String),
    /// Of the identity provider.
    #[error("{0}")]
    IdentityProvider(String),
    #[error("media: {0}")]
    Media(#[from] gatehouse_media::Error),
    /// The bucket of media refuses.
    #[error("{0}; make the bucket, and let the access key list, read, write and delete in it")]
    Bucket(#[source] gatehouse_media::Error),
    #[error("metrics: {0}")]
    Metrics(String),
    #[error("simulated providers: {0}")]
    Sandbox(io::Error),
    #[error("signals: {0}")]
    Signals(io::Error),
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("self-signed certificate: {0}")]
    Tls(String),
    #[error("a part of the start was cancelled: {0}")]
    Cancelled(#[from] tokio::task::JoinError),
    #[error("sandbox account: {0}")]
    SandboxKeys(#[from] SandboxKeysError),
}

impl ServeError {
    /// The exit code it ends the process with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Config(_)
            | Self::Database(_)
            | Self::Plugins(
                gatehouse_runtime::OpenError::TooManyStreams { .. }
                | gatehouse_runtime::OpenError::AddressSpace { .. },
            )
            | Self::Driver(
                StartError::Prices(_) | StartError::Models { .. } | StartError::PriceVariants { .. },
            )
            | Self::WatchFolder { .. }
            | Self::Certificates(_)
            | Self::Logs(_) => Exit::Misconfigured,
            Self::Edge(gatehouse_edge::Error::Tls(_) | gatehouse_edge::Error::Inherited(_))
            | Self::Media(_) => Exit::Misconfigured,
            Self::Driver(StartError::Store(_)) => Exit::Store,
            Self::Store(error) => Exit::from(error),
            _ => Exit::Broken,
        }
    }
}
