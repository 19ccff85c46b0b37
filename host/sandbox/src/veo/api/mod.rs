//! The listeners and what they answer: [`token`], [`vertex`], [`storage`] and [`gemini`], each with its paths; [`submit`],
//! [`answer`] and [`files`] for what the dialects share.

mod answer;
mod files;
pub(super) mod gemini;
pub(super) mod storage;
mod submit;
pub(super) mod token;
pub(super) mod vertex;
