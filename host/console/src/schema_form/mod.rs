//! A form for any JSON object that a schema describes: its controls, the JSON that a sent form means, and the form that a
//! JSON value means. The fields come from `gatehouse_schema`, which also makes the documentation.
//!
//! Every field has a control; what a form cannot show is JSON in a text area. The name of a control is the JSON pointer of
//! its value. A field that takes the address of a medium has a control for a file beside it, also inside of objects and of
//! lists of objects. Never validates what the plugin validates: a value is sent as it was typed.

mod control;
mod media;
mod read;
mod render;
#[cfg(test)]
mod tests;

pub(crate) use media::{InputField, Medium, control_of, input_fields, takes_files};
pub(crate) use read::{fill, read};
pub(crate) use render::{Shown, render};
