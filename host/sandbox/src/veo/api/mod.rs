//! The listeners and what they answer: [`token`], [`vertex`] and [`storage`], each with its paths; [`submit`], [`answer`] and
//! [`files`] for what they answer.

mod answer;
mod files;
pub(super) mod storage;
mod submit;
pub(super) mod token;
pub(super) mod vertex;
