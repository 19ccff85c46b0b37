//! The type of futures at the border of a crate.

use std::pin::Pin;

/// A future whose code is compiled in the crate that makes it. That of a plain `async fn` is compiled once more, with all
/// that it awaits, in every crate that awaits it: for the entry points of a service that is most of the service.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
