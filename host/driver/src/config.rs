//! What an operator may set about tasks. Defaults are the specification's.

use std::collections::BTreeMap;

use gatehouse_model::Credits;
use serde::Deserialize;

/// The `[tasks]` and `[prices]` tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Seconds after which a task fails with "Task timeout" and is refunded (spec: about 30 minutes).
    pub time_limit_s: u32,
    /// The same per canonical model.
    pub time_limit_s_by_model: BTreeMap<String, u32>,
    /// Hours an `Idempotency-Key` is remembered.
    pub idempotency_hours: u32,
    /// Days a finished task can be read.
    pub history_days: u32,
    /// Steps under way at once.
    pub concurrency: usize,
    /// Steps a task's plugin may take altogether; one that takes more makes no progress, and the task fails.
    pub steps: u32,
    /// Price keys and their prices in credits, filled from `[prices]`.
    #[serde(skip)]
    pub prices: BTreeMap<String, Credits>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            time_limit_s: 30 * 60,
            time_limit_s_by_model: BTreeMap::new(),
            idempotency_hours: 24,
            history_days: 30,
            concurrency: 512,
            steps: 20_000,
            prices: BTreeMap::new(),
        }
    }
}
