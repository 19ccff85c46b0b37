//! The files of a plugin that a command checks or installs, and the operator's consent to the defaults that come with it.

use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::path::Path;

use gatehouse_admin::{Component, FamilyDefaultsFile, PluginOffer};

use crate::plugins::signing;

/// A component, its signature, and the defaults that come with it.
///
/// # Errors
/// A file that cannot be read, in words.
pub(in crate::commands) fn read_offer(
    file: &Path,
    signature: Option<&Path>,
    defaults: Option<&Path>,
) -> Result<PluginOffer, String> {
    let defaults = defaults.map(read_defaults).transpose()?;
    let signature = signing::signature_of(file, signature)?;
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(PluginOffer { signature, defaults, ..PluginOffer::of(Component(bytes)) })
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
