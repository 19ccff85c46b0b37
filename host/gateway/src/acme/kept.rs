//! What is kept of an authority: the account, and the certificate with its key. One file that its owner alone can read, written
//! whole, so a chain never lies beside another one's key.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_edge::{Certificates, TlsError};
use gatehouse_files::write_atomic;
use serde::{Deserialize, Serialize};

/// A certificate that was issued, and for what.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Issued {
    /// The directory of the authority.
    pub(super) directory: String,
    /// The names that were asked for, in their order.
    pub(super) domains: Vec<String>,
    /// PEM, leaf first.
    pub(super) chain: String,
    /// PEM.
    pub(super) key: String,
}

/// The whole file.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The directory of the account, and its credentials as the library writes them.
    pub(super) account: Option<(String, serde_json::Value)>,
    pub(super) certificate: Option<Issued>,
}

impl Issued {
    /// Has the listeners use it.
    pub(super) fn put_into(&self, certificates: &Certificates) -> Result<(), TlsError> {
        certificates.issue(&self.chain, &self.key)
    }
}

impl Kept {
    /// Reads the file; without one nothing is kept. What cannot be read is of no use, and is made anew.
    pub(super) fn read(file: &Path) -> Self {
        let read = match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => Err(error),
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "account and certificate cannot be read; others are ordered");
            Self::default()
        })
    }

    /// Writes the file.
    pub(super) async fn write(&self, file: PathBuf) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        tokio::task::spawn_blocking(move || write_atomic(&file, &bytes)).await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a file cut short, or one of a later version, ends every start.
    #[tokio::test]
    async fn what_is_kept_is_read_again_and_rubbish_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("acme.json");
        assert!(Kept::read(&file).certificate.is_none());
        let issued = Issued {
            directory: "https://ca.example/dir".to_owned(),
            domains: vec!["a.example".to_owned()],
            chain: "chain".to_owned(),
            key: "key".to_owned(),
        };
        let kept = Kept { account: None, certificate: Some(issued) };
        kept.write(file.clone()).await.unwrap();
        assert_eq!(Kept::read(&file).certificate.unwrap().domains, ["a.example"]);
        let certificates = Certificates::from_authority().unwrap();
        let error = kept.certificate.unwrap().put_into(&certificates).unwrap_err();
        assert!(error.to_string().contains("server.acme"), "{error}");
        fs::write(&file, "{\"account\":").unwrap();
        assert!(Kept::read(&file).certificate.is_none());
    }
}
