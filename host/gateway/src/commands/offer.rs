//! The files of a plugin that a command checks or installs, and the operator's consent to the defaults that come with it.

use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::path::Path;

use gatehouse_admin::{Component, FamilyDefaultsFile, PluginOffer};

use super::args::plugin::ComponentArgs;
use super::{artifact, packing};
use crate::config::Location;
use crate::plugins::signing;

/// The component, and what belongs to it. What is installed from a registry has to be pinned: a tag may mean something else
/// tomorrow, and nobody would see it.
///
/// # Errors
/// A file that cannot be read, or what the registry said, in words.
pub(in crate::commands) async fn read_offer(
    component: ComponentArgs,
    location: &Location,
    is_installed: bool,
) -> Result<PluginOffer, String> {
    let ComponentArgs { file, signature, allow_removal, sha256, defaults } = component;
    let defaults = defaults.as_deref().map(read_defaults).transpose()?;
    let (bytes, signature) = match artifact::reference(&file)? {
        Some(reference) => {
            let pulled = artifact::pull(&reference, location).await?;
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

/// The defaults of a family.
///
/// # Errors
/// A file that cannot be read, in words.
pub(in crate::commands) fn read_defaults(file: &Path) -> Result<FamilyDefaultsFile, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    Ok(FamilyDefaultsFile { name, text })
}

/// Asks on the terminal for the consent; what they would change was shown before.
///
/// # Errors
/// There is no terminal to ask on, in words.
pub(in crate::commands) fn ask_consent() -> Result<bool, String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err("nothing was installed: confirm the defaults on a terminal, or with --yes".to_owned());
    }
    let mut error = io::stderr().lock();
    drop(write!(error, "\nInstall it with these defaults? [y/N] ").and_then(|()| error.flush()));
    Ok(is_yes(&mut input.lock()))
}

fn is_yes(input: &mut dyn BufRead) -> bool {
    let mut line = String::new();
    let read = input.read_line(&mut line).is_ok();
    read && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, yes) in [("y\n", true), (" YES \n", true), ("\n", false), ("", false), ("yellow\n", false)]
        {
            assert_eq!(is_yes(&mut line.as_bytes()), yes, "{line:?}");
        }
    }
}
