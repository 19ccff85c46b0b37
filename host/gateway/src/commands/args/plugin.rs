//! Options of `plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gatehouse_model::Digest;

use super::author::AuthorCommand;
use super::values::OutputArgs;

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
