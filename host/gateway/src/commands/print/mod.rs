//! What a command prints: results for people or as JSON.

mod configuration;
mod generic;
mod plugin;
mod result;
mod steps;
mod table;

pub(crate) use configuration::reload_in_words;
pub(crate) use generic::{Shown, credits, details, rows_of, table, text_at};
pub(crate) use plugin::{
    plugins_in_words, refused_stages, report_in_words, switched_in_words, uninstalled_in_words,
};
pub(crate) use result::{json, stages, text};
pub(crate) use steps::steps_in_words;
