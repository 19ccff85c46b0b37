//! The file that tells commands on the same machine where a running gateway's admin listener is.
//!
//! `<data>/admin.json`, mode 0600: the address and the token. Written once the listener is bound, removed when it
//! closes. A crash leaves a stale file; a reader then gets no connection.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gatehouse_files::write_atomic;
use serde::Deserialize;

use crate::token::Token;

/// The admin listener of a running gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminEndpoint {
    /// Its address.
    pub address: SocketAddr,
    /// Its token.
    pub token: Token,
}

impl AdminEndpoint {
    /// Path of the file in a data folder.
    #[must_use]
    pub fn path(data: &Path) -> PathBuf {
        data.join("admin.json")
    }

    /// Writes the file, readable by its owner alone.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, data: &Path) -> io::Result<()> {
        let text = serde_json::json!({ "address": self.address, "token": self.token.reveal() });
        write_atomic(&Self::path(data), format!("{text}\n").as_bytes())
    }

    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// The file system's, and `InvalidData` for a file [`AdminEndpoint::write`] did not make.
    pub fn read(data: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(Self::path(data)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // The parser's own message may quote the token.
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("admin.json is not in the expected form at {at}"),
            )
        })
    }

    /// Removes the file if it still holds this endpoint; the file of another process stays.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(&self, data: &Path) -> io::Result<()> {
        match Self::read(data)? {
            Some(found) if found.token.reveal() == self.token.reveal() => fs::remove_file(Self::path(data)),
            _ => Ok(()),
        }
    }
}
