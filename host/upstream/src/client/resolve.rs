//! Names to addresses. A trait, so that a test can answer differently every time it is asked.

use std::io;
use std::net::IpAddr;

use futures_util::future::BoxFuture;

/// Looks names up. Never asked for IP literals.
pub trait Resolve: Send + Sync + 'static {
    /// Every address of `host`, in the order to be tried.
    ///
    /// # Errors
    /// When the name has no address or the look-up fails.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
