//! Ed25519 signatures over a component's bytes, and the keys that an operator trusts.
//!
//! A signature travels beside its component as one line of text:
//!
//! ```text
//! gatehouse-ed25519 <public key, base64> <signature of the component's bytes, base64>
//! ```
//! It names its key, so that an unknown key and wrong bytes under a trusted key are different errors. A signature says
//! who made a version; it gives the version no rights.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{Digest, Seed};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Deserializer};

const SCHEME: &str = "gatehouse-ed25519";

/// An Ed25519 public key; written as base64, read as base64 or 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an Ed25519 key: 32 bytes as base64 or as 64 lower-case hex digits")]
pub struct NotAKey;

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        decode_key(text).map(Self)
    }
}

fn decode_key(text: &str) -> Result<[u8; 32], NotAKey> {
    let text = text.trim();
    if let Ok(hex) = text.parse::<Digest>() {
        return Ok(hex.0);
    }
    STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(NotAKey)
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A signature and the key it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    key: PublicKey,
    bytes: Vec<u8>,
}

impl FromStr for Signature {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [SCHEME, key, bytes] = words.as_slice() else { return Err(SignatureError::Malformed) };
        let key = key.parse().map_err(|_| SignatureError::Malformed)?;
        let bytes = STANDARD.decode(bytes).map_err(|_| SignatureError::Malformed)?;
        Ok(Self { key, bytes })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME} {} {}", self.key, STANDARD.encode(&self.bytes))
    }
}

/// Why a signature is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The text has another format.
    #[error("the signature is not in the expected form: `{SCHEME} <public key> <signature>`, both base64")]
    Malformed,
    /// Signatures are required, and there is none.
    #[error(
        "it is not signed, and plugins.require_signature is set; `gatehouse plugin sign` makes the file \
         that belongs beside it"
    )]
    Unsigned,
    /// The operator does not trust the key.
    #[error("it is signed by {key}, which is not among plugins.trusted_keys ({known})")]
    UnknownKey {
        /// The key it names.
        key: PublicKey,
        /// Names of the trusted ones.
        known: String,
    },
    /// A trusted key, but not a signature of these bytes.
    #[error("the signature claims {name:?} and does not fit these bytes")]
    Wrong {
        /// The trusted key's name.
        name: String,
    },
}

/// The keys that an operator trusts.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Public keys by the operator's names.
    pub keys: BTreeMap<String, PublicKey>,
    /// Whether every version needs a signature of one of them.
    pub required: bool,
}

impl Trust {
    /// Checks a component's signature; returns a note for the report. A signature must be right even where none is
    /// required.
    pub(crate) fn check(&self, wasm: &[u8], signature: Option<&str>) -> Result<String, SignatureError> {
        let Some(text) = signature else {
            return if self.required { Err(SignatureError::Unsigned) } else { Ok("not signed".to_owned()) };
        };
        let signature: Signature = text.parse()?;
        let Some((name, key)) = self.keys.iter().find(|(_, key)| **key == signature.key) else {
            let names: Vec<&str> = self.keys.keys().map(String::as_str).collect();
            let known = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
            return Err(SignatureError::UnknownKey { key: signature.key, known });
        };
        UnparsedPublicKey::new(&ED25519, key.0)
            .verify(wasm, &signature.bytes)
            .map(|()| format!("signed by {name}"))
            .map_err(|_| SignatureError::Wrong { name: name.clone() })
    }
}

/// An author's private key, for `gatehouse plugin sign`.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {})", self.public())
    }
}

impl SigningKey {
    /// A fresh key; `seed` must be the operating system's randomness.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        let mut bytes = [0; 32];
        seed.fill(&mut bytes);
        Self::from_seed(bytes)
    }

    /// The key a file holds.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        decode_key(text).map(Self::from_seed)
    }

    fn from_seed(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("any 32 bytes are a seed");
        Self { seed, pair }
    }

    /// The private key as text; its file must be readable by its owner alone.
    #[must_use]
    pub fn reveal(&self) -> String {
        STANDARD.encode(self.seed)
    }

    /// The public key, for the operators' `trusted_keys`.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let bytes = self.pair.public_key().as_ref().try_into().expect("an Ed25519 key has 32 bytes");
        PublicKey(bytes)
    }

    /// Signs a component.
    #[must_use]
    pub fn sign(&self, wasm: &[u8]) -> Signature {
        Signature { key: self.public(), bytes: self.pair.sign(wasm).as_ref().to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed([byte; 32])
    }

    #[test]
    fn each_wrong_signature_has_its_reason() {
        let (acme, other) = (key(1), key(2));
        let keys = BTreeMap::from([("acme".to_owned(), acme.public())]);
        let good = acme.sign(b"wasm").to_string();
        let check = |required, signature: Option<&str>, expected: Result<&str, &str>| {
            let checked = Trust { keys: keys.clone(), required }.check(b"wasm", signature);
            match (checked, expected) {
                (Ok(note), Ok(part)) => assert_eq!(note, part),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (other, _) => panic!("{signature:?}: {other:?}"),
            }
        };
        check(true, Some(&good), Ok("signed by acme"));
        check(false, Some(&format!("  {good}\n")), Ok("signed by acme"));
        check(false, None, Ok("not signed"));
        check(true, None, Err("it is not signed"));
        check(false, Some(&acme.sign(b"wash").to_string()), Err("claims \"acme\" and does not fit"));
        check(false, Some(&other.sign(b"wasm").to_string()), Err("not among plugins.trusted_keys (acme)"));
        // The signature of another key under a trusted name.
        let forged = Signature { key: acme.public(), ..other.sign(b"wasm") }.to_string();
        check(true, Some(&forged), Err("does not fit"));
        for malformed in ["", "gatehouse-ed25519", "x y z", "gatehouse-ed25519 AAAA AAAA", &good[1..]] {
            check(false, Some(malformed), Err("not in the expected form"));
        }
        let short = Signature { bytes: vec![0; 3], ..acme.sign(b"wasm") }.to_string();
        check(true, Some(&short), Err("does not fit"));
    }

    #[test]
    fn keys_read_as_they_are_written() {
        let public = key(3).public();
        assert_eq!(public.to_string().parse(), Ok(public));
        assert_eq!(Digest(public.0).to_string().parse(), Ok(public));
        assert_eq!("AAAA".parse::<PublicKey>(), Err(NotAKey));
        let again = SigningKey::parse(&format!("{}\n", key(4).reveal())).unwrap();
        assert_eq!(again.public(), key(4).public());
        assert!(!format!("{again:?}").contains(&again.reveal()));
    }
}
