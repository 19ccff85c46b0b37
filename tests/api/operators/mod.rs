//! What operators ask the admin API of a running gateway.

mod logs;
mod prices;
