//! The file through which commands on the same machine find a running gateway's door.
//!
//! `<data>/admin.json`, readable by its owner only: where the listener is and the token that opens it. It
//! is written when the listener stands and removed when it closes; after a crash a stale one may remain,
//! which a reader notices by nobody answering.

use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Token;

/// Where a running gateway listens for its operator, and what opens it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Door {
    /// The admin listener.
    pub address: SocketAddr,
    /// Its token.
    pub token: Token,
}

impl Door {
    /// The file's place in a data folder.
    #[must_use]
    pub fn path(data: &Path) -> PathBuf {
        data.join("admin.json")
    }

    /// Writes the file whole (a reader never sees half of it), mode 0600.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, data: &Path) -> io::Result<()> {
        let text = serde_json::json!({ "address": self.address, "token": self.token.reveal() });
        let temporary = data.join("admin.json.new");
        if let Err(error) = fs::remove_file(&temporary)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        writeln!(file, "{text}")?;
        fs::rename(temporary, Self::path(data))
    }

    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// The file system's, and `InvalidData` for a file [`Door::write`] did not make.
    pub fn read(data: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(Self::path(data)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("admin.json is not in the expected form at {at}"),
            )
        })
    }

    /// Removes the file if it still names this door; another process's file stays.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(&self, data: &Path) -> io::Result<()> {
        match Self::read(data) {
            Ok(Some(found)) if found.token.reveal() == self.token.reveal() => {
                fs::remove_file(Self::path(data))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
