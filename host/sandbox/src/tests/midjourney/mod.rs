//! The midjourney-proxy.

mod buttons;
mod faults;
mod films;
mod modal;
mod pictures;
mod proxy;
mod reads;
mod record;
mod refusals;
