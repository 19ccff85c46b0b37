//! The file that tells commands on the same machine where a running gateway's admin listener is.
//!
//! `<data>/admin.json`, mode 0600: the address and the operator's token; `<data>/admin-viewer.json`, the same with the token
//! that only reads. Written once the listener is bound, removed when it closes. A crash leaves stale files; a reader then
//! gets no connection.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gatehouse_files::{if_exists, write_atomic};
use serde::Deserialize;

use crate::access::Token;

/// The admin listener of a running gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminEndpoint {
    /// Its address.
    pub address: SocketAddr,
    /// Its token.
    pub token: Token,
    /// Whether it speaks TLS and asks for a certificate.
    #[serde(default)]
    pub tls: bool,
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointOf {
    /// The operator's.
    Operator,
    /// The viewer's, which only reads.
    Viewer,
    /// That of a start that waits. Only what needs no token is behind it.
    Waiting,
}

impl EndpointOf {
    /// Path of the file in a data folder.
    #[must_use]
    pub fn path(self, data: &Path) -> PathBuf {
        data.join(match self {
            Self::Operator => "admin.json",
            Self::Viewer => "admin-viewer.json",
            Self::Waiting => "admin-waiting.json",
        })
    }

    /// Reads the file; `None` where it does not exist.
    ///
    /// # Errors
    /// The file system's, and `InvalidData` for a file [`AdminEndpoint::write`] did not make.
    pub fn read(self, data: &Path) -> io::Result<Option<AdminEndpoint>> {
        let path = self.path(data);
        let Some(text) = if_exists(fs::read_to_string(&path))? else { return Ok(None) };
        // The parser's own message may quote the token.
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            let name = path.file_name().unwrap_or_default().display();
            io::Error::new(io::ErrorKind::InvalidData, format!("{name} is not in the expected form at {at}"))
        })
    }
}

impl AdminEndpoint {
    /// Writes the file, readable by its owner alone.
    pub fn write(&self, data: &Path, of: EndpointOf) -> io::Result<()> {
        let mut text = serde_json::json!({ "address": self.address, "token": self.token.reveal() });
        if self.tls {
            text["tls"] = true.into();
        }
        write_atomic(&of.path(data), format!("{text}\n").as_bytes())
    }

    /// Whether the file says where this listener is.
    #[must_use]
    pub fn is_written(&self, data: &Path, of: EndpointOf) -> bool {
        of.read(data).ok().flatten().is_some_and(|found| {
            (found.address, found.token.reveal(), found.tls) == (self.address, self.token.reveal(), self.tls)
        })
    }

    /// Removes the file if it still holds this endpoint; that of another process stays.
    pub fn remove(&self, data: &Path, of: EndpointOf) -> io::Result<()> {
        match of.read(data)? {
            Some(found) if found.token.reveal() == self.token.reveal() => fs::remove_file(of.path(data)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use gatehouse_harness::TestSeed;

    use super::EndpointOf::Operator;
    use super::*;
    use crate::Config;

    fn endpoint(fill: u8) -> AdminEndpoint {
        let token = Token::mint(&TestSeed::constant(fill));
        AdminEndpoint { address: Config::default().listen, token, tls: false }
    }

    #[test]
    fn only_the_process_that_wrote_the_file_removes_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Operator.read(folder.path()).unwrap().is_none());
        endpoint(1).write(folder.path(), Operator).unwrap();
        endpoint(2).write(folder.path(), Operator).unwrap();
        let mode = fs::metadata(Operator.path(folder.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        endpoint(1).remove(folder.path(), Operator).unwrap();
        let found = Operator.read(folder.path()).unwrap().unwrap();
        assert_eq!(found.token.reveal(), endpoint(2).token.reveal());
        endpoint(2).remove(folder.path(), Operator).unwrap();
        assert!(Operator.read(folder.path()).unwrap().is_none());
    }

    #[test]
    fn the_error_of_a_broken_file_does_not_quote_it() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"address":"127.0.0.1:1","token":["deadbeef"]}"#;
        fs::write(Operator.path(folder.path()), text).unwrap();
        let error = Operator.read(folder.path()).unwrap_err().to_string();
        assert!(!error.contains("deadbeef") && error.contains("admin.json"), "{error}");
    }
}
