//! Options of `plugin`, and the requests that its commands mean.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gatehouse_admin::{ApiAnswer, ApiRequest, OperationError, PluginOffer};
use gatehouse_model::Digest;
use gatehouse_upstream::ArtifactReference;
use serde_json::{Value, json};

use super::author::AuthorCommand;
use super::values::{OutputArgs, Performed};
use crate::commands::api::{Api, ExecuteError, Need};
use crate::commands::offer::{OfferFiles, ask_consent, read_offer};
use crate::commands::print::{
    Shown, checked_in_words, plugins_in_words, print_refusal, print_shown, report_in_words, rows_of,
    switched_in_words, text_at, uninstalled_in_words,
};
use crate::exit::Exit;

const REPORT: &[&str] = &["number", "when=at", "family", "version", "digest", "order=kind", "outcome", "who"];

/// A component to deploy or to check.
#[derive(Debug, Args)]
pub(crate) struct ComponentArgs {
    /// The component: a file, or oci://registry/repository:tag@sha256:digest
    pub(crate) file: PathBuf,
    /// Its signature [default: FILE.sig if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) signature: Option<PathBuf>,
    /// Let it leave out models, aliases and surfaces that the version before serves
    #[arg(long)]
    pub(crate) allow_removal: bool,
    /// Refuse any other bytes
    #[arg(long, value_name = "DIGEST")]
    pub(crate) sha256: Option<Digest>,
    /// Prices, providers and models that come with it [default: those in the file, if it was packed with some]
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults: Option<PathBuf>,
}

/// What goes into one file.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The component, or the folder of its family
    pub(crate) source: PathBuf,
    /// Prices, providers and settings [default: family.toml of the folder, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults: Option<PathBuf>,
    /// Its licence [default: LICENSE of the folder, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) licence: Option<PathBuf>,
    /// Its scripts [default: play/ of the folder, if there is one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) play: Option<PathBuf>,
    /// The file to write [default: FAMILY.gatehouse.wasm]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Commands about plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List the versions in the plugin store and the state of each
    List(OutputArgs),
    /// Deploy a component: every stage, then the switch of its family
    #[command(after_help = "Example:
  gatehouse plugin install motion.wasm --sha256 $(sha256sum motion.wasm | cut -c1-64)
  gatehouse plugin install motion.wasm --defaults family.toml
  gatehouse plugin install oci://ghcr.io/us/motion:1.0.0@sha256:...")]
    Install {
        #[command(flatten)]
        component: ComponentArgs,
        /// Confirm the defaults that come with it, which are shown first, without being asked
        #[arg(long)]
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
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Write a plugin as one file: the component with its manifest, defaults, licence and scripts
    #[command(after_help = "Examples:
  gatehouse plugin pack painter
  gatehouse plugin pack painter.wasm --defaults family.toml --licence LICENSE --play play -o painter.gatehouse.wasm

The file stays a component for every other tool. Sign it after it is packed: a signature is of the whole file.")]
    Pack(PackArgs),
    /// Write a plugin into an OCI registry, with its signature if FILE.sig exists; prints the reference that pins it
    #[command(after_help = "Example:
  gatehouse plugin push painter.gatehouse.wasm oci://ghcr.io/us/painter:1.0.0

The registry's user is that of `docker login`, or of GATEHOUSE_OCI_USERNAME and GATEHOUSE_OCI_PASSWORD.")]
    Push {
        /// The file
        file: PathBuf,
        /// Where to
        #[arg(value_name = "oci://REGISTRY/REPOSITORY:TAG")]
        target: ArtifactReference,
    },
    /// Show what a plugin's file holds, without running it
    Inspect {
        /// The file, or oci://registry/repository:tag
        file: PathBuf,
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
    let switched = async |request, output| {
        let done = told(api.send(request).await, output)?;
        let text = switched_in_words(&done);
        Ok::<_, ExecuteError>((Shown::told(done, text), output))
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
            switched(activate.flag("allow_removal", allow_removal), output).await?
        }
        PluginCommand::Rollback { family: name, output } => {
            switched(family(&name, "rollback"), output).await?
        }
        PluginCommand::Enable { family: name, output } => switched(family(&name, "enable"), output).await?,
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
        PluginCommand::Check { component, output } => {
            let offer = offered(component, false, api).await?;
            (check(&offer, Need::Check, output, api).await?, output)
        }
        PluginCommand::Install { component, yes, output } => {
            let offer = offered(component, true, api).await?;
            (install(&offer, yes, output, api).await?, output)
        }
        PluginCommand::Keygen { .. }
        | PluginCommand::Sign { .. }
        | PluginCommand::Pack(_)
        | PluginCommand::Push { .. }
        | PluginCommand::Inspect { .. }
        | PluginCommand::Author(_) => {
            return Err(ExecuteError::Arguments("this command sends no request of its own".to_owned()));
        }
    })
}

/// What is installed from a registry has to be pinned, by its reference or by `--sha256`.
async fn offered(
    component: ComponentArgs,
    is_installed: bool,
    api: &Api<'_>,
) -> Result<PluginOffer, ExecuteError> {
    let ComponentArgs { file, signature, allow_removal, sha256, defaults } = component;
    let files =
        OfferFiles { component: &file, signature: signature.as_deref(), defaults: defaults.as_deref() };
    let offer = read_offer(files, api.location(), is_installed && sha256.is_none()).await;
    Ok(PluginOffer { sha256, allow_removal, ..offer.map_err(ExecuteError::Arguments)? })
}

async fn check(
    offer: &PluginOffer,
    need: Need,
    output: OutputArgs,
    api: &Api<'_>,
) -> Result<Shown, ExecuteError> {
    api.bring(offer.defaults());
    let done = told(api.send_as(ApiRequest::post(&["plugins", "check"]).json(offer), need).await, output)?;
    let text = checked_in_words(&done);
    Ok(Shown::told(done, text))
}

/// What comes with defaults is checked first: the operator sees what they would change.
async fn install(
    offer: &PluginOffer,
    is_confirmed: bool,
    output: OutputArgs,
    api: &Api<'_>,
) -> Result<Shown, ExecuteError> {
    if offer.defaults().is_some() && !is_confirmed {
        // By the store that is installed into, not by one that goes with this process.
        print_shown(&check(offer, Need::Write, output, api).await?, output.json);
        if !ask_consent().map_err(OperationError::Refused)? {
            return Ok(Shown { exit: Exit::Refused, ..Shown::told(Value::Null, String::new()) });
        }
    }
    api.bring(offer.defaults());
    let done = told(api.send(ApiRequest::post(&["plugins"]).json(offer)).await, output)?;
    let text = switched_in_words(&done);
    Ok(Shown::told(done, text))
}

/// The answer; the stages of a refusal are printed.
fn told(answer: Result<ApiAnswer, ExecuteError>, output: OutputArgs) -> Result<Value, ExecuteError> {
    answer.map(|answer| answer.body).inspect_err(|error| {
        if let ExecuteError::Refused(refusal) = error {
            print_refusal(&refusal.body, output.json);
        }
    })
}
