//! The grammar of the authors' commands, which `author` runs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_upstream::ArtifactReference;

/// Commands for authors of plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthorCommand {
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
    /// List the surfaces that routes serve, the limits of a plugin, and what of WASI it may import
    Surfaces,
    /// Write the folder of a new family: a plugin that builds, its scripts and a README
    #[command(after_help = "Examples:
  gatehouse plugin new painter
  gatehouse plugin new painter --lang python --folder ~/families/painter")]
    New(NewArgs),
    /// Play scripts against a component, under this gateway's own engine, limits and rules
    #[command(after_help = "Example:
  gatehouse plugin play play/draws.play family.wasm

sdk/README.md lists the lines of a script.")]
    Play(PlayArgs),
    /// Serve scripts as a provider on this machine: check the calls of a gateway, and answer them
    #[command(after_help = "Example:
  gatehouse plugin mock play --port 9000     # prints what gatehouse.toml needs; Ctrl-C ends with a summary

sdk/README.md says which script answers a call.")]
    Mock(MockArgs),
    /// On every change of a family's folder: build, check, play its scripts, install into a running gateway
    #[command(after_help = "Example:
  gatehouse serve                    # in one terminal
  gatehouse plugin dev painter       # in another, in the same folder or with the same --data
  gatehouse plugin dev painter --defaults painter/family.toml")]
    Dev(DevArgs),
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

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The family's name, kebab-case
    #[arg(value_parser = family_name)]
    pub(in crate::commands) name: String,
    /// The language
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub(in crate::commands) lang: Language,
    /// The folder to write; must not exist [default: ./NAME]
    #[arg(long, value_name = "FOLDER")]
    pub(in crate::commands) folder: Option<PathBuf>,
    /// Rust: take the SDK from this folder (`sdk` of the repository) instead of the registry
    #[arg(long, value_name = "PATH", conflicts_with = "git")]
    pub(in crate::commands) sdk: Option<PathBuf>,
    /// Rust: take the SDK from this git repository instead of the registry
    #[arg(long, value_name = "URL")]
    pub(in crate::commands) git: Option<String>,
}

/// The language of a new family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Rust,
    Python,
    #[value(alias = "javascript")]
    Js,
}

#[derive(Debug, Args)]
pub(crate) struct PlayArgs {
    /// A script, or a folder with scripts (*.play)
    pub(in crate::commands) script: PathBuf,
    /// The component
    pub(in crate::commands) component: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// A script, or a folder with scripts (*.play)
    pub(in crate::commands) script: PathBuf,
    /// The port of 127.0.0.1; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    pub(in crate::commands) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    /// The family's folder, with `build.sh`, which writes `family.wasm`, and scripts in `play/`
    #[arg(default_value = ".")]
    pub(in crate::commands) folder: PathBuf,
    /// Prices, providers and models that come with it; shown and installed with it, without a question
    #[arg(long, value_name = "FILE")]
    pub(in crate::commands) defaults: Option<PathBuf>,
    /// Do not install: only build, check and play
    #[arg(long)]
    pub(in crate::commands) no_install: bool,
    /// Run once, without waiting for a change; the exit code tells whether every step succeeded
    #[arg(long)]
    pub(in crate::commands) once: bool,
}

fn family_name(text: &str) -> Result<String, String> {
    let word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    if text.len() <= 64 && text.split('-').all(word) {
        return Ok(text.to_owned());
    }
    Err(format!("expected kebab-case of at most 64 letters, such as red-kite, got {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_names_are_kebab_case() {
        for (name, fits) in [
            ("painter", true),
            ("red-kite2", true),
            ("", false),
            ("Red", false),
            ("a--b", false),
            ("2d", false),
            ("a/b", false),
        ] {
            assert_eq!(family_name(name).is_ok(), fits, "{name}");
        }
    }
}
