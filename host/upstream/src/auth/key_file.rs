//! The key file of a service account, as Google's console and others write it: JSON with `client_email`, `private_key`,
//! `private_key_id` and `token_uri`. Errors name the field and never quote what the file holds.

use std::fmt;

use ring::digest::{SHA256, digest};
use ring::signature::RsaKeyPair;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

/// The remedy of every error here.
const REMEDY: &str = "name the JSON key file that was downloaded for the service account";

/// Who signs, and with what.
pub(crate) struct ServiceAccountKey {
    pub(crate) email: String,
    pub(crate) key_id: Option<String>,
    pub(crate) token_uri: Option<String>,
    pub(crate) key: RsaKeyPair,
    /// Of the whole file: two keys are the same when their files are.
    digest: Vec<u8>,
}

impl PartialEq for ServiceAccountKey {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl ServiceAccountKey {
    /// Reads a key file's text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let digest = digest(&SHA256, text.as_bytes()).as_ref().to_vec();
        let file: Value = serde_json::from_str(text).map_err(|error| {
            // The parser's own message may quote the text.
            format!(
                "expected a key file in JSON, got none (line {}, column {}); {REMEDY}",
                error.line(),
                error.column()
            )
        })?;
        let text = |field: &str| file.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let needed =
            |field: &str| text(field).ok_or_else(|| format!("the key file has no `{field}`; {REMEDY}"));
        if text("type").is_some_and(|kind| kind != "service_account") {
            return Err(format!("the key file's `type` is not service_account; {REMEDY}"));
        }
        let (email, pem) = (needed("client_email")?, needed("private_key")?);
        Ok(Self {
            email: email.to_owned(),
            key_id: text("private_key_id").map(str::to_owned),
            token_uri: text("token_uri").map(str::to_owned),
            key: rsa(pem)?,
            digest,
        })
    }
}

fn rsa(pem: &str) -> Result<RsaKeyPair, String> {
    let wrong = |why: &dyn fmt::Display| {
        format!(
            "the key file's `private_key` is not an RSA key of 2048 bits or more in PEM ({why}); {REMEDY}"
        )
    };
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()) {
        Ok(PrivateKeyDer::Pkcs8(der)) => {
            RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|why| wrong(&why))
        }
        Ok(PrivateKeyDer::Pkcs1(der)) => {
            RsaKeyPair::from_der(der.secret_pkcs1_der()).map_err(|why| wrong(&why))
        }
        Ok(_) => Err(wrong(&"another kind of key")),
        Err(_) => Err(wrong(&"no key in PEM")),
    }
}
