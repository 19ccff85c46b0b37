//! The documentation of the public API: an OpenAPI document made of the routes and of the loaded plugins' schemas, and a
//! page for people made of that document.
//!
//! Pure: the same [`Api`] gives the same bytes. Never knows a route, a status code or a plugin by itself: `edge` hands
//! them over, from the tables that serve requests. Validation is the plugins', whose schemas stand here unchanged but for
//! `model`, which is the host's.

mod api;
mod document;
mod page;

pub use api::{Answer, Api, Content, ErrorCase, ErrorForm, Operation, OwnBody, Parameter, Security};
pub use document::document;
pub use page::{Page, STYLE, Sample, page};
