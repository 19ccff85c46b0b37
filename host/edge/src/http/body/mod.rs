//! Request bodies: what a head may announce, how fast a body must arrive, what all of them may hold, and reading
//! one. Never parses the bytes: that is `CheckedBody` of the driver.

mod budget;
mod encoding;
mod media_type;
mod pace;
mod read;

pub(crate) use budget::{BodyBudget, StreamedBody};
#[cfg(test)]
pub(crate) use budget::{STREAMED, WORKED_ON};
pub(crate) use media_type::check_type;
pub(crate) use read::RequestBody;
