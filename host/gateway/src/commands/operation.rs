//! The operation that the check or the installation of a plugin means.

use std::path::Path;

use gatehouse_admin::{Component, FamilyDefaultsFile, Operation};

use super::args::plugin::{ComponentArgs, PluginCommand};
use super::args::values::OutputArgs;
use crate::plugins::signing;

const NO_OPERATION: &str = "this command has no operation";

/// The operation that a command line means, and its form of output.
///
/// # Errors
/// A file that cannot be read, in words.
pub(super) fn operation(command: PluginCommand) -> Result<(Operation, OutputArgs), String> {
    Ok(match command {
        PluginCommand::Check { component, defaults, output } => {
            let defaults = defaults.as_deref().map(read_defaults).transpose()?;
            let (component, signature, allow_removal) = read(component)?;
            (Operation::PluginCheck { component, signature, allow_removal, defaults }, output)
        }
        PluginCommand::Install { component, sha256, defaults, yes: _, output } => {
            let defaults = defaults.as_deref().map(read_defaults).transpose()?;
            let (component, signature, allow_removal) = read(component)?;
            (Operation::PluginInstall { component, sha256, signature, allow_removal, defaults }, output)
        }
        PluginCommand::List(_)
        | PluginCommand::Activate { .. }
        | PluginCommand::History { .. }
        | PluginCommand::Report { .. }
        | PluginCommand::Rollback { .. }
        | PluginCommand::Disable { .. }
        | PluginCommand::Enable { .. }
        | PluginCommand::Uninstall { .. }
        | PluginCommand::Remove { .. }
        | PluginCommand::Keygen { .. }
        | PluginCommand::Sign { .. }
        | PluginCommand::Author(_) => {
            return Err(NO_OPERATION.to_owned());
        }
    })
}

/// The component, its signature, and whether it may take names away.
fn read(component: ComponentArgs) -> Result<(Component, Option<String>, bool), String> {
    let ComponentArgs { file, signature, allow_removal } = component;
    let signature = signing::signature_of(&file, signature.as_deref())?;
    let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((Component(bytes), signature, allow_removal))
}

pub(super) fn read_defaults(file: &Path) -> Result<FamilyDefaultsFile, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    Ok(FamilyDefaultsFile { name, text })
}
