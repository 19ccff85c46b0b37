//! The content of answers: repeatable random numbers, words, and JSON that fits a schema.

pub(crate) mod answer_text;
pub(crate) mod generate;
pub(crate) mod json_sample;
pub(crate) mod seed;
pub(crate) mod words;
