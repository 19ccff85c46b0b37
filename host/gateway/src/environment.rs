//! The process's environment: read here, and handed on as configuration.

use std::path::PathBuf;

/// What every overriding variable begins with: `GATEHOUSE__SERVER__LISTEN` sets `server.listen`.
pub(crate) const OVERRIDE: &str = "GATEHOUSE__";

/// The variables that override configuration; no other is kept, for it may be a secret.
pub(crate) fn overrides() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).filter(|(name, _)| name.starts_with(OVERRIDE)).collect()
}

/// The folder of this user for what can be made again, if there is one.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let named = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    named.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")).filter(|it| it.is_absolute()))
}

/// Whether standard output is the journal of the service manager, by its device and inode as systemd tells them.
pub(crate) fn is_journal() -> bool {
    let Some(journal) = variable("JOURNAL_STREAM") else { return false };
    rustix::fs::fstat(std::io::stdout()).is_ok_and(|out| journal == format!("{}:{}", out.st_dev, out.st_ino))
}

/// One variable; `None` when it is not set or not text.
#[expect(clippy::disallowed_methods, reason = "the one reader of the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
