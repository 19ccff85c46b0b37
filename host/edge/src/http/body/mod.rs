//! Request bodies: what a head may announce, how fast a body must arrive, what all of them may hold, and reading
//! one. Never parses the bytes: that is `CheckedBody` of the driver.

mod budget;
mod encoding;
mod form;
mod media_type;
mod pace;
mod read;

pub(crate) use budget::{BodyBudget, StreamedBody};
#[cfg(test)]
pub(crate) use budget::{STREAMED, WORKED_ON};
pub(crate) use media_type::{MediaType, check_type, media_type};
pub(crate) use read::RequestBody;

use bytes::Bytes;
use gatehouse_model::FormFields;

use crate::errors::Refusal;

/// The JSON of a body of that type.
pub(crate) async fn as_json(
    body: Bytes,
    media_type: &MediaType,
    fields: Option<&FormFields>,
) -> Result<Bytes, Refusal> {
    match (media_type, fields) {
        (MediaType::Form(boundary), Some(fields)) => form::to_json(body, boundary, fields).await,
        _ => Ok(body),
    }
}
