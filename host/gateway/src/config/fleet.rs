//! The `[fleet]` table: what this gateway is to others on the same database.

use gatehouse_edge::PublicUrl;
use gatehouse_model::Digest;
use gatehouse_store::Node;
use serde::Deserialize;
use toml::{Table, Value};

use super::sections::Config;

/// Tables that differ from one machine to the next, or are about one process alone.
const OWN: [&str; 6] = ["admin", "data", "fleet", "log", "server", "traces"];
/// Characters of a name.
const MAX_NAME: usize = 100;

/// The `[fleet]` table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FleetConfig {
    /// Whether a start waits, for as long as another gateway is at work on the database, to take its place.
    pub(crate) standby: bool,
    /// What the others call it; absent: the name of the machine and the first port of `server.listen`.
    pub(crate) name: Option<String>,
    /// Where the others reach its public API.
    pub(crate) address: Option<PublicUrl>,
    /// Whether requests are sent on to the gateway at work while this one waits; refused otherwise.
    pub(crate) send_on: bool,
}

impl Default for FleetConfig {
    fn default() -> Self {
        Self { standby: false, name: None, address: None, send_on: true }
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
    let mut table = table.clone();
    table.retain(|key, _| !OWN.contains(&key));
    leave_out_secrets(&mut table);
    let port = config.server.listen.first().map_or(0, std::net::SocketAddr::port);
    let machine = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own_name = || format!("{}:{port}", machine().trim());
    Node {
        name: config.fleet.name.clone().unwrap_or_else(own_name),
        address: config.fleet.address.as_ref().map(|address| address.as_str().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        configuration: Digest::of(table.to_string().as_bytes()).to_string(),
    }
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
    use super::*;

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
