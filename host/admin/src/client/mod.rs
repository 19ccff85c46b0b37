//! The client's side of `/admin/v1`: a request and its answer, sent to a running gateway, or answered in this process where
//! none runs, by the same router under the same rules.

mod local;
mod remote;
mod request;

pub use local::LocalApi;
pub use remote::{ClientError, RemoteApi};
pub use request::{ApiAnswer, ApiRefusal, ApiRequest};
