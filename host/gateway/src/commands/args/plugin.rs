//! Options of `plugin`, and the requests that its commands mean.

use clap::{Args, Subcommand};
use gatehouse_admin::{ApiRequest, OperationError, PluginOffer};
use serde_json::{Value, json};

use super::author::AuthorCommand;
use crate::commands::api::{Api, Need, Performed};
use crate::commands::offer::{ComponentArgs, ask_consent, read_offer};
use crate::commands::print::{
    Shown, checked_in_words, plugins_in_words, print_shown, report_in_words, switched_in_words, text_at,
    uninstalled_in_words,
};
use crate::terminal::Exit;

const REPORT: &[&str] = &["number", "when=at", "family", "version", "digest", "order=kind", "outcome", "who"];

/// Commands about plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Those that the admin API answers.
    #[command(flatten)]
    Api(PluginRequest),
    /// For authors.
    #[command(flatten)]
    Author(AuthorCommand),
}

/// Commands that the admin API answers.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginRequest {
    /// List the versions in the plugin store and the state of each
    List,
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
    },
    /// Switch a family to a version in the plugin store
    Activate {
        /// Its digest, or a prefix of it
        version: String,
        /// Let it leave out models, aliases and surfaces that the version before serves
        #[arg(long)]
        allow_removal: bool,
    },
    /// Switch a family back to its previous version
    Rollback(FamilyArgs),
    /// Keep new requests away from a family until it is enabled; its tasks go on
    #[command(after_help = "Example:\n  gatehouse plugin disable journey\n\n\
        The same lasts in the configuration: [plugins.families.journey] enabled = false")]
    Disable(FamilyArgs),
    /// Have a family serve again that was disabled, with the version it had
    Enable(FamilyArgs),
    /// Take away a family: every version of it and the defaults that came with it
    #[command(
        after_help = "It is refused while tasks of the family live; the family is disabled from then on, so that nothing \
        new comes.\nA family that came with the gateway can be disabled only."
    )]
    Uninstall(FamilyArgs),
    /// Delete a version that neither serves nor has tasks to finish
    Remove {
        /// Its digest, or a prefix of it
        version: String,
    },
    /// List what was deployed: when, by whom, and what it came to
    #[command(after_help = "Example:\n  gatehouse plugin history motion --limit 5")]
    History {
        /// Only this family
        family: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show the report of one deployment, with its stages
    Report {
        /// Its number, as the history lists it
        number: u64,
    },
    /// Take a component through every stage of deployment but the switch
    Check {
        #[command(flatten)]
        component: ComponentArgs,
    },
}

/// One family.
#[derive(Debug, Args)]
pub(crate) struct FamilyArgs {
    /// The family
    family: String,
}

/// Does what a command means.
pub(in crate::commands) async fn run(command: PluginRequest, api: &Api<'_>) -> Performed {
    let family = |name: &str, verb: &str| ApiRequest::post(&["families", name, verb]);
    match command {
        PluginRequest::List => api.listed(ApiRequest::get(&["plugins"]), usize::MAX, plugins_in_words).await,
        PluginRequest::History { family, limit } => {
            let list = ApiRequest::get(&["deployments"]).query_if("family", family);
            api.rows(list, limit as usize, REPORT).await
        }
        PluginRequest::Report { number } => {
            let report = ApiRequest::get(&["deployments", &number.to_string()]);
            api.told(report, |report| report_in_words(report, REPORT)).await
        }
        PluginRequest::Activate { version, allow_removal } => {
            let activate = ApiRequest::post(&["plugins", &version, "activate"]);
            api.told(activate.flag("allow_removal", allow_removal), switched_in_words).await
        }
        PluginRequest::Rollback(args) => api.told(family(&args.family, "rollback"), switched_in_words).await,
        PluginRequest::Enable(args) => api.told(family(&args.family, "enable"), switched_in_words).await,
        PluginRequest::Disable(FamilyArgs { family: name }) => {
            api.told(family(&name, "disable"), |off| {
                let version = text_at(off, "digest").get(..12).unwrap_or_default();
                format!("{name} serves no new request; version {version} finishes the tasks it admitted\n")
            })
            .await
        }
        PluginRequest::Uninstall(args) => {
            api.told(ApiRequest::delete(&["families", &args.family]), uninstalled_in_words).await
        }
        PluginRequest::Remove { version } => {
            api.send(ApiRequest::delete(&["plugins", &version])).await?;
            Ok(Shown::told(json!({"version": version}), format!("removed {version}\n")))
        }
        PluginRequest::Check { component } => {
            let offer = read_offer(&component, api.location(), false).await?;
            check(&offer, Need::Check, api).await
        }
        PluginRequest::Install { component, yes } => {
            let offer = read_offer(&component, api.location(), true).await?;
            install(&offer, yes, api).await
        }
    }
}

async fn check(offer: &PluginOffer, need: Need, api: &Api<'_>) -> Performed {
    api.bring(offer.defaults());
    let done = api.send_as(ApiRequest::post(&["plugins", "check"]).json(offer), need).await?.body;
    let text = checked_in_words(&done);
    Ok(Shown::told(done, text))
}

/// What comes with defaults is checked first: the operator sees what they would change.
async fn install(offer: &PluginOffer, is_confirmed: bool, api: &Api<'_>) -> Performed {
    if offer.defaults().is_some() && !is_confirmed {
        // By the store that is installed into, not by one that goes with this process.
        print_shown(&check(offer, Need::Write, api).await?, api.json);
        if !ask_consent().map_err(OperationError::Refused)? {
            return Ok(Shown { exit: Exit::Refused, ..Shown::told(Value::Null, String::new()) });
        }
    }
    api.bring(offer.defaults());
    api.told(ApiRequest::post(&["plugins"]).json(offer), switched_in_words).await
}
