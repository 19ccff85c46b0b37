//! `gatehouse.toml`: the whole document as one type; each section is the type of the crate that uses it.
//!
//! Owns how the file is found, merged over the defaults of the families, overridden from the environment, checked,
//! compared with another one and shown. Never reads a secret, only the reference to it.

mod database;
mod differences;
mod document;
mod error;
mod family_defaults;
mod impossible;
mod installed_defaults;
mod load;
mod ownership;
mod plausible;
mod price_names;
mod sections;
#[cfg(test)]
mod tests;
mod text_rules;
mod unusable;

pub(crate) use database::{node, server as database, told};
pub(crate) use differences::{differences, in_effect, is_limit, is_reloaded, keep_limits};
pub(crate) use error::{ConfigError, ConfigErrors};
pub(crate) use family_defaults::{FamilyDefaults, find, units};
pub(crate) use installed_defaults::{
    forget as forget_defaults, settle as settle_defaults, stage as stage_defaults,
    unstage as unstage_defaults,
};
pub(crate) use load::{
    Loaded, Location, file_of, load_admin_client, load_backup_buckets, load_data, load_outgoing, load_with,
};
pub(crate) use ownership::check_own;
pub(crate) use sections::{Config, DataConfig, SandboxConfig};
