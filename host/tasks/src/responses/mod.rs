//! Responses kept for follow-ups (`POST /v1/responses`): what a row holds.

pub(crate) mod record;
