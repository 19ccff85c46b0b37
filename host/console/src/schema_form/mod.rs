//! A form for any JSON object that a schema describes: its controls, the JSON that a sent form means, and the form that a
//! JSON value means. The fields come from `gatehouse_schema`, which also makes the documentation.
//!
//! Every field has a control; what a form cannot show is JSON in a text area. The name of a control is the JSON pointer of
//! its value. A field that takes the address of a medium has a control for a file beside it. Never validates what the plugin
//! validates: a value is sent as it was typed.

mod control;
mod fill;
mod media;
mod read;
mod render;
#[cfg(test)]
mod tests;

pub(crate) use fill::fill;
pub(crate) use media::{Medium, control_of, place, takes_files};
pub(crate) use read::read;
pub(crate) use render::{Shown, render};
