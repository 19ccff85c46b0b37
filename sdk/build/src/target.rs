//! Installs the compilation target when it is missing.

use std::path::Path;
use std::process::Command;

use crate::command::{clean, output};
use crate::error::{BuildError, TARGET};

/// Makes sure the toolchain that serves `dir` can build for [`TARGET`], installing it through rustup when
/// it is missing. Returns a sentence to print when something was installed.
///
/// # Errors
/// [`BuildError::TargetMissing`] with the remedy when it cannot be installed.
pub fn ensure_target(dir: &Path) -> Result<Option<String>, BuildError> {
    if is_installed(dir)? {
        return Ok(None);
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).current_dir(dir);
    let why = match output(clean(&mut rustup)) {
        Ok(done) if done.status.success() && is_installed(dir)? => {
            return Ok(Some(format!("installed the Rust target {TARGET} with rustup")));
        }
        Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(BuildError::TargetMissing { why })
}

/// rustc names the folder a target's standard library would be in whether or not it is installed.
fn is_installed(dir: &Path) -> Result<bool, BuildError> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(dir);
    let printed = output(clean(&mut rustc))?;
    let libdir = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    Ok(printed.status.success() && !libdir.is_empty() && Path::new(&libdir).is_dir())
}
