//! The file that tells commands on the same machine where a running gateway's admin listener is.
//!
//! `<data>/admin.json`, mode 0600: the address and the operator's token; `<data>/admin-viewer.json`, the same with the token
//! that only reads. Written once the listener is bound, removed when it closes. A crash leaves stale files; a reader then
//! gets no connection.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gatehouse_files::write_atomic;
use serde::Deserialize;

use crate::access::{Role, Token};

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

impl AdminEndpoint {
    /// Path of the operator's file in a data folder.
    #[must_use]
    pub fn path(data: &Path) -> PathBuf {
        Self::path_of(data, Role::Operator)
    }

    /// Path of a role's file in a data folder.
    #[must_use]
    pub fn path_of(data: &Path, role: Role) -> PathBuf {
        data.join(match role {
            Role::Operator => "admin.json",
            Role::Viewer => "admin-viewer.json",
        })
    }

    /// Path of the file of a start that waits. Only what needs no token is behind it.
    #[must_use]
    pub fn path_while_waiting(data: &Path) -> PathBuf {
        data.join("admin-waiting.json")
    }

    /// Writes the operator's file, readable by its owner alone.
    pub fn write(&self, data: &Path) -> io::Result<()> {
        self.write_as(data, Role::Operator)
    }

    /// Writes the file of a role, readable by its owner alone.
    pub fn write_as(&self, data: &Path, role: Role) -> io::Result<()> {
        self.write_to(&Self::path_of(data, role))
    }

    /// Writes the file of a start that waits.
    pub fn write_while_waiting(&self, data: &Path) -> io::Result<()> {
        self.write_to(&Self::path_while_waiting(data))
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::json!({ "address": self.address, "token": self.token.reveal() });
        if self.tls {
            text["tls"] = true.into();
        }
        write_atomic(path, format!("{text}\n").as_bytes())
    }

    /// Reads the operator's file; `None` when there is none.
    ///
    /// # Errors
    /// The file system's, and `InvalidData` for a file [`AdminEndpoint::write`] did not make.
    pub fn read(data: &Path) -> io::Result<Option<Self>> {
        Self::read_as(data, Role::Operator)
    }

    /// Reads the file of a start that waits; `None` without one.
    pub fn read_while_waiting(data: &Path) -> io::Result<Option<Self>> {
        Self::read_from(&Self::path_while_waiting(data))
    }

    fn read_as(data: &Path, role: Role) -> io::Result<Option<Self>> {
        Self::read_from(&Self::path_of(data, role))
    }

    fn read_from(path: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // The parser's own message may quote the token.
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{} is not in the expected form at {at}",
                    path.file_name().unwrap_or_default().display()
                ),
            )
        })
    }

    /// Whether the file of a role says where this listener is.
    #[must_use]
    pub fn is_written_as(&self, data: &Path, role: Role) -> bool {
        Self::read_as(data, role).ok().flatten().is_some_and(|found| {
            (found.address, found.token.reveal(), found.tls) == (self.address, self.token.reveal(), self.tls)
        })
    }

    /// Removes the operator's file if it still holds this endpoint; the file of another process stays.
    pub fn remove(&self, data: &Path) -> io::Result<()> {
        self.remove_as(data, Role::Operator)
    }

    /// Removes the file of a role if it still holds this endpoint.
    pub fn remove_as(&self, data: &Path, role: Role) -> io::Result<()> {
        match Self::read_as(data, role)? {
            Some(found) if found.token.reveal() == self.token.reveal() => {
                fs::remove_file(Self::path_of(data, role))
            }
            _ => Ok(()),
        }
    }
}
