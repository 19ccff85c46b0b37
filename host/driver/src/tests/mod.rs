//! The driver with its real parts: store, runtime, upstream, media, a real plugin and a simulated provider.

mod calls;
mod cancels;
mod clock_steps;
mod disks;
mod fairness;
mod housekeeping;
mod rates;
mod served;
mod store_outages;
mod submissions;
mod support;
mod targets;
mod text_timeouts;
mod version_pinning;
mod webhooks;
