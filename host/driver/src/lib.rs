//! What happens: a request becomes a durable task, a due task takes its next step, a restart picks up
//! where the last process stopped, a shutdown leaves nothing half-said.
//!
//! Owns intake, the scheduler loop, the step protocol (run, commit, call, commit), recovery and drain; it is
//! the only room that joins store, families, upstream and media. Never parses HTTP, never decides a
//! status code (edge does), never decides what is true of a task (`tasks` does).
//! Called by `edge` and `admin`.

mod call;
mod cancel;
mod commit;
mod config;
mod driver;
mod face;
mod house;
mod intake;
mod live;
mod read;
mod recover;
mod result;
mod save;
mod schedule;
mod step;
mod text;

pub use config::{Config, TextConfig};
pub use driver::{Driver, Parts, StartError};
pub use face::{CancelError, ModelListing, Receipt, Request, SubmitError, TaskFilter};
pub use gatehouse_media::{MediaFile, MediaRefusal};
pub use gatehouse_store::{StoreError, TaskPage};
pub use text::{
    CompletionRequest, CompletionResponse, ModelConfig, TextError, TextStream, TokenPrices, check_models,
};
