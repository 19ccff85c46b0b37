//! What customers get around the models, as a black box: dry runs, events of tasks, and the documentation of the API.
//! The real binary with every family, and strict simulated providers.

mod accounts;
mod documents;
mod dry_run;
mod dry_run_limits;
mod events;
mod examples;
mod files;
mod generators;
mod json_forms;
mod official_sdks;
mod scene;
mod schemas;
mod walk;
mod wrong_types;

use scene::Scene;
