//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe the pictures) --> Sending --1, 22, 21--> Running --SUCCESS--> done
//!                                               |   ^                 |  ^  |
//!                           queue full, no con-`-wait'        not yet `wait' | MODAL, 21: the client's to finish
//!                           nection             ^                            v
//!                                               `-- (probe the file) <-- Modal --joined--
//! ```
//! `send` reads the answers to submissions, `poll` the answers to polls, `dialog` waits for the modal route.

pub(crate) mod advance;
mod dialog;
mod finish;
mod poll;
mod send;
