//! Tests of the endpoints as clients meet them.

mod direct;
mod documentation;
mod dry_run;
mod events;
mod openai;
mod others;
mod responses;
mod submissions;
mod tasks;
mod text;
mod usage;
mod webhooks;
