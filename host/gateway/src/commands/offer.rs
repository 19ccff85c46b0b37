//! The files of a plugin that a command checks or installs, and the operator's consent to the defaults that come with it.

use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_admin::{Component, FamilyDefaultsFile, PluginOffer};
use gatehouse_files::read_at_most;
use gatehouse_model::Digest;

use super::artifact;
use crate::config::Location;
use crate::plugins::folder_watcher::MAX_COMPONENT_BYTES;
use crate::plugins::signing;
use crate::terminal::at;

/// A component to deploy or to check.
#[derive(Debug, Default, Args)]
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

/// The component, and what belongs to it. What is installed from a registry has to be pinned, by its reference or by `--sha256`: a tag
/// may mean something else tomorrow, and nobody would see it.
pub(in crate::commands) async fn read_offer(
    args: &ComponentArgs,
    location: &Location,
    is_installed: bool,
) -> Result<PluginOffer, String> {
    let (file, signature) = (args.file.as_path(), args.signature.as_deref());
    let defaults = args.defaults.as_deref().map(read_defaults).transpose()?;
    let (bytes, signature) = match artifact::reference(file)? {
        Some(reference) => {
            let pulled = artifact::pull(&reference, location).await?;
            if is_installed && args.sha256.is_none() && reference.digest.is_none() {
                let pinned = reference.pinned(pulled.digest);
                return Err(format!(
                    "{reference}: expected a reference with a digest, for a tag may move; it is {pinned} now"
                ));
            }
            let named = signature.map(|path| signing::signature_of(file, Some(path)));
            (pulled.component.to_vec(), named.transpose()?.flatten().or(pulled.signature))
        }
        None => (read_component(file)?, signing::signature_of(file, signature)?),
    };
    let (sha256, allow_removal) = (args.sha256, args.allow_removal);
    Ok(PluginOffer { signature, defaults, sha256, allow_removal, ..PluginOffer::of(Component(bytes)) })
}

/// Bytes of a file, as many as any plugin may have.
pub(in crate::commands) fn read_component(file: &Path) -> Result<Vec<u8>, String> {
    let read = std::fs::File::open(file).and_then(|file| read_at_most(file, MAX_COMPONENT_BYTES));
    read.map_err(at(file))
}

/// The defaults of a family.
pub(in crate::commands) fn read_defaults(file: &Path) -> Result<FamilyDefaultsFile, String> {
    let text = std::fs::read_to_string(file).map_err(at(file))?;
    Ok(FamilyDefaultsFile { name: file.display().to_string(), text })
}

/// Asks on the terminal for the consent; what they would change was shown before.
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
