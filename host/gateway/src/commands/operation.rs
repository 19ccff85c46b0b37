//! The operation that a command line means.

use std::path::Path;

use gatehouse_admin::{Component, FamilyDefaultsFile, Operation, PluginOffer};

use super::args::plugin::{ComponentArgs, PluginCommand};
use super::args::values::OutputArgs;
use super::args::{customer, key, price, provider, task, webhook};
use super::artifact;
use super::cli::{Command, ConsoleCommand};
use super::packing;
use crate::config::Location;
use crate::plugins::signing;

const NO_OPERATION: &str = "this command has no operation";

/// The operation that a command line means, and its form of output.
///
/// # Errors
/// A file that cannot be read, in words.
pub(super) fn operation(command: Command, location: &Location) -> Result<(Operation, OutputArgs), String> {
    match command {
        Command::Doctor(output) => Ok((Operation::Doctor, output)),
        Command::Audit(args) => Ok(task::audit(args)),
        Command::Key(command) => Ok(key::operation(command)),
        Command::Customer(command) => Ok(customer::operation(command)),
        Command::Webhook(command) => Ok(webhook::operation(command)),
        Command::Reload(output) => Ok((Operation::Reload, output)),
        Command::Console(ConsoleCommand::Link { role, output }) => {
            Ok((Operation::ConsoleLink { role }, output))
        }
        Command::Prices(command) => price::operation(command),
        Command::Tasks(args) => Ok(task::list(args)),
        Command::Cancel(args) => Ok(task::cancel(args)),
        Command::Reconcile(args) => task::reconcile(args),
        Command::Steps { task, output } => Ok((Operation::TaskSteps { task }, output)),
        Command::Providers(output) => Ok((Operation::ProviderList, output)),
        Command::Provider(command) => Ok(provider::operation(command)),
        Command::Plugin(command) => plugin(command, location),
        Command::Serve(_)
        | Command::CheckConfig { .. }
        | Command::Sandbox(_)
        | Command::CompileComponent(_) => Err(NO_OPERATION.to_owned()),
    }
}

fn plugin(command: PluginCommand, location: &Location) -> Result<(Operation, OutputArgs), String> {
    Ok(match command {
        PluginCommand::List(output) => (Operation::PluginList, output),
        PluginCommand::Check { component, output } => {
            (Operation::PluginCheck(read(component, location, false)?), output)
        }
        PluginCommand::Install { component, yes: _, output } => {
            (Operation::PluginInstall(read(component, location, true)?), output)
        }
        PluginCommand::Activate { version, allow_removal, output } => {
            (Operation::PluginActivate { version, allow_removal }, output)
        }
        PluginCommand::History { family, limit, output } => {
            (Operation::DeploymentList { family, limit }, output)
        }
        PluginCommand::Report { number, output } => (Operation::DeploymentShow { number }, output),
        PluginCommand::Rollback { family, output } => (Operation::PluginRollback { family }, output),
        PluginCommand::Disable { family, output } => (Operation::PluginDisable { family }, output),
        PluginCommand::Enable { family, output } => (Operation::PluginEnable { family }, output),
        PluginCommand::Uninstall { family, output } => (Operation::PluginUninstall { family }, output),
        PluginCommand::Remove { version, output } => (Operation::PluginRemove { version }, output),
        PluginCommand::Keygen { .. }
        | PluginCommand::Sign { .. }
        | PluginCommand::Pack(_)
        | PluginCommand::Push { .. }
        | PluginCommand::Inspect { .. }
        | PluginCommand::Author(_) => return Err(NO_OPERATION.to_owned()),
    })
}

/// The component, and what belongs to it. What is installed from a registry has to be pinned: a tag may mean something else
/// tomorrow, and nobody would see it.
fn read(component: ComponentArgs, location: &Location, is_installed: bool) -> Result<PluginOffer, String> {
    let ComponentArgs { file, signature, allow_removal, sha256, defaults } = component;
    let defaults = defaults.as_deref().map(read_defaults).transpose()?;
    let (bytes, signature) = match artifact::reference(&file)? {
        Some(reference) => {
            let pulled = artifact::pull(&reference, location)?;
            if is_installed && reference.digest.is_none() && sha256.is_none() {
                let pinned = reference.pinned(pulled.digest);
                return Err(format!(
                    "{reference}: expected a reference with a digest, for a tag may move; it is {pinned} now"
                ));
            }
            let named = signature.as_deref().map(|path| signing::signature_of(&file, Some(path)));
            (pulled.component.to_vec(), named.transpose()?.flatten().or(pulled.signature))
        }
        None => (packing::read(&file)?, signing::signature_of(&file, signature.as_deref())?),
    };
    Ok(PluginOffer { component: Component(bytes), sha256, signature, allow_removal, defaults })
}

pub(super) fn read_defaults(file: &Path) -> Result<FamilyDefaultsFile, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    Ok(FamilyDefaultsFile { name, text })
}
