//! The journey family: grids of four pictures and all that follows from them, by the midjourney proxy's protocol of the
//! provider `midjourney`.
//!
//! Owns the parameters of sixteen routes, their translation (`request`, `billing`), the provider's protocol
//! (`provider`), the steps of a task (`steps`) and the rendering of `GET /v1/journey/{task_id}` (`view`). Never a
//! socket, a clock or money; the host owns those, and the owner of every task a request names.

mod action;
mod billing;
mod family;
mod job;
mod manifest;
mod provider;
mod record;
mod request;
mod state;
mod steps;
mod version;
mod view;

pub use family::Journey;

gatehouse_sdk::export_family!(Journey: jobs, views, bulk);
