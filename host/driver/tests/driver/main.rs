//! The driver with its real parts: store, runtime, upstream, media, a real plugin and a simulated provider.

mod accounts;
mod bulk_calls;
mod cancels;
mod disks;
mod failures;
mod fairness;
mod first_step;
mod rates;
mod submissions;
mod support;
mod text_timeouts;
mod version_pinning;
mod webhooks;
