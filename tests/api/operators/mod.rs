//! What operators ask the admin API of a running gateway.

mod history;
mod logs;
mod prices;
mod tags;
