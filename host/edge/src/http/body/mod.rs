//! Request bodies: what a head may announce, how fast a body must arrive, what all of them may hold, and reading
//! one. Never parses the bytes: that is `CheckedBody` of the driver.

mod budget;
mod encoding;
mod form;
mod read;

pub(crate) use budget::{BodyBudget, StreamedBody};
#[cfg(test)]
pub(crate) use budget::{STREAMED, WORKED_ON};
pub(crate) use encoding::{MediaType, check_type, media_type};
pub(crate) use form::to_json as form_to_json;
pub(crate) use read::{RequestBody, holding, refuse};
