//! Responses kept for follow-ups (`POST /v1/responses`): what a row holds, and the rules of keeping and forgetting.

pub(crate) mod record;
pub(crate) mod rules;
