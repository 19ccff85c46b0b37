//! The console over real sockets, without a running gateway: sessions and their rules, and what pages say and do.

mod client;
mod contrast;
mod customers;
mod live;
mod pages;
mod rules;
mod scene;
mod sessions;
mod statements;
mod tasks;
mod webhooks;
