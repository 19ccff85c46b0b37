//! Options of `plugin`, and the requests that its commands mean, but for those that carry a component.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gatehouse_admin::ApiRequest;
use gatehouse_model::Digest;
use serde_json::json;

use super::author::AuthorCommand;
use super::values::{OutputArgs, Performed};
use crate::commands::api::{Api, ExecuteError};
use crate::commands::print::{
    Shown, plugins_in_words, report_in_words, rows_of, switched_in_words, text_at, uninstalled_in_words,
};

const REPORT: &[&str] = &["number", "when=at", "family", "version", "digest", "order=kind", "outcome", "who"];

/// A component to deploy or to check.
#[derive(Debug, Args)]
pub(crate) struct ComponentArgs {
    /// The component
    pub(crate) file: PathBuf,
    /// Its signature [default: FILE.sig if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) signature: Option<PathBuf>,
    /// Let it leave out models, aliases and surfaces that the version before serves
    #[arg(long)]
    pub(crate) allow_removal: bool,
}

/// Commands about plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List the versions in the plugin store and the state of each
    List(OutputArgs),
    /// Deploy a component: every stage, then the switch of its family
    #[command(after_help = "Example:
  gatehouse plugin install motion.wasm --sha256 $(sha256sum motion.wasm | cut -c1-64)
  gatehouse plugin install motion.wasm --defaults family.toml")]
    Install {
        #[command(flatten)]
        component: ComponentArgs,
        /// Refuse any other bytes
        #[arg(long, value_name = "DIGEST")]
        sha256: Option<Digest>,
        /// Prices, providers and models that come with it; shown, and installed once you confirm
        #[arg(long, value_name = "FILE")]
        defaults: Option<PathBuf>,
        /// Confirm the defaults without being asked
        #[arg(long, requires = "defaults")]
        yes: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Switch a family to a version in the plugin store
    Activate {
        /// Its digest, or a prefix of it
        version: String,
        /// Let it leave out models, aliases and surfaces that the version before serves
        #[arg(long)]
        allow_removal: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Switch a family back to its previous version
    Rollback {
        /// The family
        family: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Keep new requests away from a family until it is enabled; its tasks go on
    #[command(after_help = "Example:\n  gatehouse plugin disable journey\n\n\
        The same lasts in the configuration: [plugins.families.journey] enabled = false")]
    Disable {
        /// The family
        family: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Have a family serve again that was disabled, with the version it had
    Enable {
        /// The family
        family: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Take away a family: every version of it and the defaults that came with it
    #[command(
        after_help = "It is refused while tasks of the family live; the family is disabled from then on, so that nothing \
        new comes.\nA family that came with the gateway can be disabled only."
    )]
    Uninstall {
        /// The family
        family: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Delete a version that neither serves nor has tasks to finish
    Remove {
        /// Its digest, or a prefix of it
        version: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// List what was deployed: when, by whom, and what it came to
    #[command(after_help = "Example:\n  gatehouse plugin history motion --limit 5")]
    History {
        /// Only this family
        family: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show the report of one deployment, with its stages
    Report {
        /// Its number, as the history lists it
        number: u64,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Take a component through every stage of deployment but the switch
    Check {
        #[command(flatten)]
        component: ComponentArgs,
        /// Show what the defaults that come with it would change
        #[arg(long, value_name = "FILE")]
        defaults: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Create a key pair to sign plugins with: the private key into FILE, the public one printed
    Keygen {
        /// File for the private key; must not exist
        file: PathBuf,
    },
    /// Sign a component: writes FILE.sig beside it
    Sign {
        /// The component
        file: PathBuf,
        /// The private key's file
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// For authors.
    #[command(flatten)]
    Author(AuthorCommand),
}

/// Does what a command means.
pub(in crate::commands) async fn run(command: PluginCommand, api: &Api<'_>) -> Performed {
    let family = |name: &str, verb: &str| ApiRequest::post(&["families", name, verb]);
    let switched = async |request| {
        let done = api.send(request).await?.body;
        let text = switched_in_words(&done);
        Ok::<_, ExecuteError>(Shown::told(done, text))
    };
    Ok(match command {
        PluginCommand::List(output) => {
            let found = api.list(ApiRequest::get(&["plugins"]), usize::MAX, None).await?;
            let text = plugins_in_words(rows_of(&found));
            (Shown::told(found, text), output)
        }
        PluginCommand::History { family, limit, output } => {
            let list = ApiRequest::get(&["deployments"]).query_if("family", family);
            (Shown::list(api.list(list, limit as usize, None).await?, REPORT), output)
        }
        PluginCommand::Report { number, output } => {
            let report = api.send(ApiRequest::get(&["deployments", &number.to_string()])).await?.body;
            let text = report_in_words(&report, REPORT);
            (Shown::told(report, text), output)
        }
        PluginCommand::Activate { version, allow_removal, output } => {
            let activate = ApiRequest::post(&["plugins", &version, "activate"]);
            (switched(activate.flag("allow_removal", allow_removal)).await?, output)
        }
        PluginCommand::Rollback { family: name, output } => {
            (switched(family(&name, "rollback")).await?, output)
        }
        PluginCommand::Enable { family: name, output } => (switched(family(&name, "enable")).await?, output),
        PluginCommand::Disable { family: name, output } => {
            let off = api.send(family(&name, "disable")).await?.body;
            let version = text_at(&off, "digest").get(..12).unwrap_or_default();
            let text =
                format!("{name} serves no new request; version {version} finishes the tasks it admitted\n");
            (Shown::told(off, text), output)
        }
        PluginCommand::Uninstall { family: name, output } => {
            let gone = api.send(ApiRequest::delete(&["families", &name])).await?.body;
            let text = uninstalled_in_words(&gone);
            (Shown::told(gone, text), output)
        }
        PluginCommand::Remove { version, output } => {
            api.send(ApiRequest::delete(&["plugins", &version])).await?;
            (Shown::told(json!({"version": version}), format!("removed {version}\n")), output)
        }
        PluginCommand::Check { .. }
        | PluginCommand::Install { .. }
        | PluginCommand::Keygen { .. }
        | PluginCommand::Sign { .. }
        | PluginCommand::Author(_) => {
            return Err(ExecuteError::Arguments("this command sends no request of its own".to_owned()));
        }
    })
}
