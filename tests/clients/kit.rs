//! The packages that tests use as clients: installed once under the target folder by `install.py`, exactly as pinned.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The runtime that installs and runs a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Python,
    Node,
}

/// Packages that are installed together; `pins/<name>` lists them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) tool: Tool,
    pub(crate) name: &'static str,
}

impl Set {
    /// The program that runs scripts with these packages, and the folder it finds the scripts in.
    pub(crate) fn ready(self) -> (PathBuf, PathBuf) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
        let kits =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join("clients");
        let mut install = Command::new("python3");
        install.arg(here.join("install.py")).arg(&kits).arg(self.name);
        let remedy = "needed are python3 with its venv module, node (20 or newer) and npm (Debian: apt-get install \
                      python3 python3-venv nodejs npm), and registries of packages that pip and npm reach";
        let output = install.output().unwrap_or_else(|error| panic!("{install:?}: {error}; {remedy}"));
        assert!(output.status.success(), "{}{remedy}", String::from_utf8_lossy(&output.stderr));
        let folder = kits.join(self.name);
        match self.tool {
            Tool::Python => (folder.join("bin/python"), here.join("python")),
            Tool::Node => (PathBuf::from("node"), folder),
        }
    }
}
