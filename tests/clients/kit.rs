//! The SDKs' packages: installed once under the target folder, exactly as pinned, and kept until the pins change.
//!
//! The only part of the tests that uses package registries, through their ordinary clients.

use std::fs::{self, File};
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
        let here = here();
        let kits =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join("clients");
        fs::create_dir_all(&kits).expect("a folder for the packages");
        // Tests run in parallel, and so may two test runs.
        let lock = File::create(kits.join(format!("{}.lock", self.name))).expect("a lock file");
        lock.lock().expect("the lock");
        let folder = kits.join(self.name);
        let wanted = self.wanted(&here);
        let stamp = folder.join("stamp");
        if fs::read_to_string(&stamp).ok().as_deref() != Some(wanted.as_str()) {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("a folder for the packages");
            match self.tool {
                Tool::Python => self.install_python(&here, &folder),
                Tool::Node => self.install_node(&here, &folder),
            }
            fs::write(&stamp, &wanted).expect("a stamp");
        }
        match self.tool {
            Tool::Python => (folder.join("bin/python"), here.join("python")),
            Tool::Node => {
                place_scripts(&here.join("node"), &folder);
                (PathBuf::from("node"), folder)
            }
        }
    }

    /// Everything the installed packages depend on; a change installs them again.
    fn wanted(self, here: &Path) -> String {
        let pins = here.join("pins");
        match self.tool {
            Tool::Python => version("python3") + &read(&pins.join(format!("{}.txt", self.name))),
            Tool::Node => version("node") + &read(&pins.join(self.name).join("package-lock.json")),
        }
    }

    fn install_python(self, here: &Path, folder: &Path) {
        let remedy = "python3 with its venv module is needed (Debian: apt-get install python3 python3-venv), and \
                      a package index that pip reaches";
        done(Command::new("python3").args(["-m", "venv"]).arg(folder), remedy);
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.args(["--require-hashes", "--only-binary", ":all:", "--requirement"]);
        done(pip.arg(here.join("pins").join(format!("{}.txt", self.name))), remedy);
    }

    fn install_node(self, here: &Path, folder: &Path) {
        for file in ["package.json", "package-lock.json"] {
            let pinned = here.join("pins").join(self.name).join(file);
            fs::copy(&pinned, folder.join(file))
                .unwrap_or_else(|error| panic!("{}: {error}", pinned.display()));
        }
        let remedy = "node (20 or newer) and npm are needed (Debian: apt-get install nodejs npm), and a package \
                      registry that npm reaches";
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund", "--loglevel=error"]);
        done(npm.current_dir(folder), remedy);
    }
}

/// Where this test stands in the tree.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").canonicalize().expect("tests/clients")
}

/// Node looks for packages beside and above a script, so the scripts go where the packages are.
fn place_scripts(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a readable folder") {
        let script = entry.expect("a readable entry").path();
        let placed = to.join(script.file_name().expect("a file"));
        let text = read(&script);
        if fs::read_to_string(&placed).ok().as_deref() != Some(text.as_str()) {
            // Another test may be reading the old one.
            let aside = placed.with_extension("new");
            fs::write(&aside, &text)
                .and_then(|()| fs::rename(&aside, &placed))
                .expect("a script in its place");
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn version(program: &str) -> String {
    let remedy = match program {
        "node" => "node (20 or newer) and npm are needed; Debian: apt-get install nodejs npm",
        _ => "python3 is needed; Debian: apt-get install python3 python3-venv",
    };
    done(Command::new(program).arg("--version"), remedy)
}

/// The output of a command. Fails the test with the remedy where the command fails.
fn done(command: &mut Command, remedy: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {remedy}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}; {remedy}\n{out}{err}", output.status);
    out.into_owned()
}
