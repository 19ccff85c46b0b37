//! JSON Schemas of plugins: the rules that they keep, their parts in an OpenAPI document, and their fields as people read
//! them. One walker for the documentation, for forms and for the check at deployment, so that the three cannot disagree.
//!
//! Pure: values in, values out. Never validates a request (the plugin does) and knows no plugin, route or page.
//! `runtime` asks for the rules, `docs` and the console for fields; an operator's settings are checked against a family's
//! schema of them.

mod component;
mod field;
mod plain;
mod read;
mod rules;
mod settings;

pub use component::{Components, splice};
pub use field::{Choice, Field, Kind, Limits, Variant};
pub use plain::make_plain;
pub use read::Reader;
pub use rules::{MAX_BYTES, MAX_DEPTH, SchemaError, check};
pub use settings::{SettingProblem, check_settings};
