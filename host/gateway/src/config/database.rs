//! The database that gateways share: where it is, and what this gateway is to others on it.
//!
//! The address of `[data] url` stands in the configuration as it is, and is shown with it, so it may hold no password there. One
//! that holds a password is named by a reference, as every secret is; or the password is, in a field of its own.

use std::fmt;

use gatehouse_edge::PublicUrl;
use gatehouse_model::{Digest, SecretRef, settings};
use gatehouse_store::{Node, OpenError, Server};
use gatehouse_upstream::ConfigError;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, de};
use toml::{Table, Value};

use super::sections::{Config, DataConfig};
use crate::secrets;

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseUrl {
    /// The address.
    Written(String),
    /// Where the address is.
    Secret(SecretRef),
}

/// The database of a configuration; `None` where the store is a file.
///
/// # Errors
/// The key and its problem, without a part of a secret: an address that cannot be used, a secret that is not
/// there.
pub(crate) fn server(data: &DataConfig) -> Result<Option<Server>, ConfigError> {
    let wrong = |key: &'static str| move |problem: String| ConfigError { key: key.to_owned(), problem };
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

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DatabaseUrl, A::Error> {
                let reference = SecretRef::deserialize(MapAccessDeserializer::new(&mut map))?;
                match map.next_key::<IgnoredAny>()? {
                    Some(_) => Err(de::Error::custom("more than one key, expected `env` or `file`")),
                    None => Ok(DatabaseUrl::Secret(reference)),
                }
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

/// Tables that differ from one machine to the next, or are about one process alone.
const OWN: [&str; 6] = ["admin", "data", "fleet", "log", "server", "traces"];
/// Characters of a name.
const MAX_NAME: usize = 100;

settings! {
    /// The `[fleet]` table.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(crate) struct FleetConfig {
        /// Whether a start waits, for as long as another gateway is at work on the database, to take its place.
        pub(crate) standby: bool = false,
        /// What the others call it; absent: the name of the machine and the first port of `server.listen`.
        pub(crate) name: Option<String> = None,
        /// Where the others reach its public API.
        pub(crate) address: Option<PublicUrl> = None,
        /// Whether requests are sent on to the gateway at work while this one waits; refused otherwise.
        pub(crate) send_on: bool = true,
    }
}

impl FleetConfig {
    /// Checks what the types cannot. `has_database`: whether the store is in one.
    ///
    /// # Errors
    /// The key below `fleet`, and what was expected.
    pub(crate) fn check(&self, has_database: bool) -> Result<(), (&'static str, String)> {
        if self.standby && !has_database {
            let text =
                "a gateway waits for another one on the same database: set data.url, or leave this out";
            return Err(("standby", text.to_owned()));
        }
        if let Some(name) = &self.name
            && (name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err((
                "name",
                format!("expected 1 to {MAX_NAME} characters of ASCII without spaces, got {name:?}"),
            ));
        }
        Ok(())
    }
}

/// What a gateway of this configuration tells others of itself. `table` is every value in effect.
pub(crate) fn node(config: &Config, table: &Table) -> Node {
    let port = config.server.listen.first().map_or(0, std::net::SocketAddr::port);
    let machine = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own_name = || format!("{}:{port}", machine().trim());
    Node {
        name: config.fleet.name.clone().unwrap_or_else(own_name),
        address: config.fleet.address.as_ref().map(|address| address.as_str().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        configuration: told(table),
    }
}

/// What others are told of values in effect: a digest of those that clients notice.
pub(crate) fn told(table: &Table) -> String {
    let mut table = table.clone();
    table.retain(|key, _| !OWN.contains(&key));
    leave_out_secrets(&mut table);
    Digest::of(table.to_string().as_bytes()).to_string()
}

/// Where a secret is kept may differ, too.
fn leave_out_secrets(table: &mut Table) {
    table.remove("secret");
    for (_, value) in table.iter_mut() {
        if let Value::Table(inner) = value {
            leave_out_secrets(inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::touches_secret;
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
        for password in ["hun/ter2", "hun ter2", "hun\"ter2"] {
            assert!(touches_secret(&format!("url = \"postgres://gate:{password}@host/db\"")), "{password}");
        }
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

    /// A start would fail when its turn comes, or nobody would send on to it.
    #[test]
    fn what_cannot_work_is_refused_with_its_key() {
        let check = |text: &str, has_database| {
            let config: FleetConfig = toml::from_str(text).unwrap();
            config.check(has_database).map_err(|(key, _)| key)
        };
        for (text, expected) in [
            ("", Ok(())),
            ("standby = true", Ok(())),
            ("name = \"gate-1\"\naddress = \"http://10.0.0.1:8080\"", Ok(())),
            ("name = \"\"", Err("name")),
            ("name = \"gate 1\"", Err("name")),
        ] {
            assert_eq!(check(text, true), expected, "{text}");
        }
        assert_eq!(check("standby = true", false), Err("standby"));
    }

    /// Two gateways of one fleet would warn of each other for nothing, or not at all.
    #[test]
    fn gateways_differ_by_what_clients_notice() {
        let digest = |text: &str| node(&Config::default(), &text.parse().unwrap()).configuration;
        let first =
            digest("[prices]\na = \"1\"\n[server]\nlisten = \"10.0.0.1:8080\"\n[fleet]\nname = \"a\"");
        let account =
            |file: &str| digest(&format!("[providers.p.accounts.a]\nsecret = {{ file = \"{file}\" }}"));
        assert_eq!(account("/etc/a"), account("/etc/b"));
        assert_eq!(first, digest("[fleet]\nname = \"b\"\n[log]\nlevel = \"debug\"\n[prices]\na = \"1\""));
        assert_ne!(first, digest("[prices]\na = \"2\""));
    }
}
