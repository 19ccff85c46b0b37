//! What a command prints: results for people or as JSON.

mod generic;
mod plugin;
mod steps;

pub(crate) use generic::{Shown, credits, details, print_shown, rows_at, table, text_at, texts_at};
pub(crate) use plugin::{
    checked_in_words, plugins_in_words, print_refusal, reload_in_words, report_in_words, switched_in_words,
    uninstalled_in_words,
};
pub(crate) use steps::steps_in_words;
