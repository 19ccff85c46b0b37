//! API keys: their form, how one is minted, and the digest that is stored instead.
//!
//! `sk-<id 10><secret 32><checksum 6>`, base62 after the prefix: 190 random bits, and a CRC-32 so that
//! scanners and typing mistakes are told apart from guesses without a look-up. Only an HMAC-SHA256
//! under the installation's pepper is stored; the key itself is shown once.

use std::fmt;

use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::digest::Digest;
use crate::ids::{KeyId, Seed};
use crate::secret::Secret;

const PREFIX: &str = "sk-";
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID: usize = 10;
const SECRET: usize = 32;
const CHECK: usize = 6;

/// A whole API key, as a client presents it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey(Secret<String>);

/// What the store keeps of a key: HMAC-SHA256 under the pepper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyDigest(pub Digest);

/// The installation's secret under which keys are digested and links are signed.
#[derive(Clone, Debug)]
pub struct Pepper(Secret<[u8; 32]>);

/// Text that cannot be an API key of this gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a well-formed API key")]
pub struct MalformedKey;

impl ApiKey {
    /// How each begins.
    pub(crate) const PREFIX: &str = PREFIX;
    /// Bytes of each.
    pub(crate) const LENGTH: usize = PREFIX.len() + ID + SECRET + CHECK;

    /// A fresh key.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        let body: String = (0..ID + SECRET).map(|_| char::from(ALPHABET[letter(seed)])).collect();
        let check = checksum(&body);
        Self(Secret::new(format!("{PREFIX}{body}{check}")))
    }

    /// Reads a presented key; the checksum must fit.
    ///
    /// # Errors
    /// [`MalformedKey`] for anything [`ApiKey::mint`] could not have made.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let body = text.strip_prefix(PREFIX).ok_or(MalformedKey)?;
        if body.len() != ID + SECRET + CHECK || !body.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(MalformedKey);
        }
        let (body, check) = body.split_at(ID + SECRET);
        if checksum(body) == check { Ok(Self(Secret::new(text.to_owned()))) } else { Err(MalformedKey) }
    }

    /// The public part, by which people name the key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        KeyId(self.0.expose()[PREFIX.len()..PREFIX.len() + ID].to_owned())
    }

    /// The digest to look up.
    #[must_use]
    pub fn digest(&self, pepper: &Pepper) -> KeyDigest {
        KeyDigest(Digest(pepper.sign(&[b"api-key", self.0.expose().as_bytes()])))
    }

    /// The key as text, to be shown once to its creator.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.0.expose()
    }
}

impl Pepper {
    /// Wraps 32 random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(Secret::new(bytes))
    }

    /// HMAC-SHA256 of the parts, each preceded by its length; the first part names the purpose.
    #[must_use]
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose()).expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Whether `signature` is what [`Pepper::sign`] gives, compared in constant time.
    #[must_use]
    pub fn verifies(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        subtle::ConstantTimeEq::ct_eq(self.sign(parts).as_slice(), signature).into()
    }
}

impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A letter without modulo bias.
fn letter(seed: &dyn Seed) -> usize {
    loop {
        let mut byte = [0];
        seed.fill(&mut byte);
        let at = usize::from(byte[0] & 63);
        if at < ALPHABET.len() {
            return at;
        }
    }
}

fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes()) as usize;
    let mut text = [b'0'; CHECK];
    for letter in text.iter_mut().rev() {
        *letter = ALPHABET[rest % 62];
        rest /= 62;
    }
    text.iter().map(|&byte| char::from(byte)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    struct Counting(AtomicU8);
    impl Seed for Counting {
        fn fill(&self, into: &mut [u8]) {
            into.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
        }
    }

    pub(crate) fn minted() -> ApiKey {
        ApiKey::mint(&Counting(AtomicU8::new(7)))
    }

    #[test]
    fn a_minted_key_reads_back() {
        let key = minted();
        assert_eq!(ApiKey::parse(key.reveal()), Ok(key.clone()));
        assert_eq!(key.reveal().len(), 3 + 48);
        assert_eq!(key.id().0.len(), 10);
    }

    #[test]
    fn one_wrong_letter_is_noticed() {
        let key = minted();
        for at in 3..key.reveal().len() {
            let mut text = key.reveal().as_bytes().to_vec();
            text[at] = if text[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(ApiKey::parse(std::str::from_utf8(&text).unwrap()), Err(MalformedKey), "at {at}");
        }
    }

    #[test]
    fn a_key_does_not_print() {
        let key = minted();
        assert!(!format!("{key:?}").contains(&key.reveal()[4..]));
    }

    #[test]
    fn another_pepper_gives_another_digest() {
        let key = minted();
        assert_ne!(key.digest(&Pepper::new([1; 32])), key.digest(&Pepper::new([2; 32])));
    }
}
