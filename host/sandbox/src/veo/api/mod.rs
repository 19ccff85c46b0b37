//! The listeners and what they answer: [`token`], [`vertex`] and [`files`], each with its paths; [`submit`] and [`answer`] for
//! what they answer.

mod answer;
pub(super) mod files;
mod submit;
pub(super) mod token;
pub(super) mod vertex;
