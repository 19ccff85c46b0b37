//! The database of `[data] url`: its address with the secrets that belong to it.
//!
//! An address stands in the configuration as it is, and is shown with it, so it may hold no password there. One that holds a password
//! is named by a reference, as every secret is; or the password is, in a field of its own.

use std::fmt;

use gatehouse_model::SecretRef;
use gatehouse_store::{OpenError, Server};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::sections::DataConfig;
use crate::secrets;

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseUrl {
    /// The address.
    Written(String),
    /// Where the address is.
    Secret(SecretRef),
}

/// What is wrong with a key of `[data]`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub(crate) struct DatabaseError {
    /// The key.
    pub(crate) key: &'static str,
    /// Never a part of a secret.
    pub(crate) problem: String,
}

/// The database of a configuration; `None` where the store is a file.
///
/// # Errors
/// The key and its problem: an address that cannot be used, a secret that is not there.
pub(crate) fn server(data: &DataConfig) -> Result<Option<Server>, DatabaseError> {
    let wrong = |key: &'static str| move |problem: String| DatabaseError { key, problem };
    let password =
        data.password.as_ref().map(secrets::resolve).transpose().map_err(wrong("data.password"))?;
    let Some(url) = &data.url else {
        return match password {
            Some(_) => Err(wrong("data.password")("it is of a database, and data.url names none".to_owned())),
            None => Ok(None),
        };
    };
    let wrong = wrong("data.url");
    let parsed = match url {
        DatabaseUrl::Written(url) => Server::parse(url, password.as_ref()),
        DatabaseUrl::Secret(reference) => {
            let url = secrets::resolve(reference).map_err(wrong)?;
            Server::parse(url.expose(), password.as_ref())
        }
    };
    let server = parsed.map_err(|error| match error {
        OpenError::Address { problem } => wrong(problem),
        other => wrong(other.to_string()),
    })?;
    if matches!(url, DatabaseUrl::Written(_)) && server.has_password() && password.is_none() {
        return Err(wrong(
            "a password is never written into the configuration itself: take it out of the address and write \
             data.password = { env = \"VARIABLE\" } or { file = \"/path/to/file\" }, or such a reference for the whole address"
                .to_owned(),
        ));
    }
    Ok(Some(server))
}

impl<'de> Deserialize<'de> for DatabaseUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = DatabaseUrl;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address, { env = \"VARIABLE\" } or { file = \"/path/to/file\" }")
            }

            fn visit_str<E: de::Error>(self, url: &str) -> Result<DatabaseUrl, E> {
                Ok(DatabaseUrl::Written(url.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DatabaseUrl, A::Error> {
                SecretRef::deserialize(MapAccessDeserializer::new(map)).map(DatabaseUrl::Secret)
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

#[cfg(test)]
mod tests {
    use super::super::remedy::touches_secret;
    use super::*;

    fn of(text: &str) -> Result<Option<String>, String> {
        let data: DataConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        let found = server(&data).map_err(|error| error.to_string())?;
        Ok(found.map(|server| server.to_string()))
    }

    /// A password would be printed by `check-config`, or a gateway would begin a file although a database was named.
    #[test]
    fn an_address_is_written_and_its_secrets_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            format!("{{ file = \"{}\" }}", path.display())
        };
        let (password, address) =
            (file("password", "sekret\n"), file("url", "postgres://me:sekret@host/db\n"));
        assert!(touches_secret("url = \"postgres://me:sekret@host/db\""), "its line would be shown");
        assert!(!touches_secret("url = \"postgres://me@host:5432/db\""));
        assert_eq!(of(""), Ok(None));
        for text in [
            "url = \"postgres://me@host/db\"".to_owned(),
            format!("url = \"postgres://me@host/db\"\npassword = {password}"),
            format!("url = {address}"),
        ] {
            assert_eq!(of(&text), Ok(Some("host:5432/db".to_owned())), "{text}");
        }
        for (text, words) in [
            ("url = \"postgres://me:sekret@host/db\"".to_owned(), "data.url: a password is never written"),
            (format!("url = {address}\npassword = {password}"), "data.url: the address has a password"),
            (format!("password = {password}"), "data.password: it is of a database"),
            ("url = { file = \"/no/such/file\" }".to_owned(), "data.url: file /no/such/file"),
            ("url = \"mysql://me@host/db\"".to_owned(), "data.url: expected postgres://"),
            ("url = \"postgres://host/db?sslmod=require\"".to_owned(), "unknown parameter \"sslmod\""),
            ("url = 5".to_owned(), "an address, { env"),
        ] {
            let error = of(&text).unwrap_err();
            assert!(error.contains(words) && !error.contains("sekret"), "{text}: {error}");
        }
    }
}
