//! The key with which a simulated provider signs its links. Knows no form of a link.

use std::io;

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// A key, new at each start: links of one process open nothing in the next.
pub(crate) struct SigningKey([u8; 32]);

impl SigningKey {
    pub(crate) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// The code of the signed parts of a link, to be written or to be verified.
    pub(crate) fn mac(&self, signed: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(signed.as_bytes());
        mac
    }

    /// The same in hexadecimal digits.
    pub(crate) fn code(&self, signed: &str) -> String {
        format!("{:x}", self.mac(signed).finalize().into_bytes())
    }
}
