//! The automatic cache of prompts: what two requests begin with alike is read again.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::order::Order;
use crate::text::record::Usage;
use crate::text::request_log::RequestLog;

/// Shorter beginnings are not cached, and longer ones in steps.
const LEAST: u64 = 1024;
const STEP: u64 = 128;
/// How long a prompt is kept.
const KEPT_MS: u64 = 300_000;

/// What of the input was cached already; caches the rest.
pub(super) fn settle(
    order: &Order<'_>,
    body: &Value,
    account: usize,
    log: &mut RequestLog,
    now: u64,
) -> Usage {
    let mut digest = Sha256::new();
    digest.update(account.to_le_bytes());
    digest.update(order.model.id);
    digest.update(body["tools"].to_string());
    let mut tokens = order.tools.iter().map(|tool| tool.tokens).sum::<u64>();
    let mut cached = 0;
    let values = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (message, value) in order.messages.iter().zip(values) {
        digest.update(value.to_string());
        tokens += message.content.tokens;
        let prefix = digest.clone().finalize().into();
        if log.is_cached(&prefix, now) {
            cached = tokens;
        }
        log.cache(prefix, now.saturating_add(KEPT_MS));
    }
    let read = if cached >= LEAST && !order.model.clone { cached / STEP * STEP } else { 0 };
    Usage { input: order.prompt_tokens - read, cache_read: read, ..Usage::default() }
}
