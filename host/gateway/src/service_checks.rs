//! Checks of what services need of a configuration: providers, the database, the proxy, buckets, the collector of traces, an
//! authority of certificates, and the secrets of all of these.
//!
//! A start, `check-config` and a reload make the same ones: what a reload takes over is shown to operators from then on, and is
//! what the next start meets. Nothing is connected.

use gatehouse_media::MediaStore;
use gatehouse_upstream::{ConfigError, Upstream};

use crate::acme::external_account;
use crate::config::{Config, database};
use crate::secrets;

/// Every value that a service cannot use, with its key.
pub(crate) fn check_services(config: &Config) -> Vec<ConfigError> {
    let mut wrong = Upstream::check(&config.upstream(), &secrets::resolve);
    wrong.extend(database(&config.data).err());
    let media = MediaStore::check_config(&config.media, &secrets::resolve).err();
    let buckets = [media, config.backup_buckets().check().err()];
    wrong.extend(buckets.iter().flatten().map(|error| keyed("media", &error.to_string())));
    wrong.extend(config.traces.collector(&config.outgoing().route()).err().map(|why| keyed("traces", &why)));
    let account = config.server.acme.as_ref().and_then(|acme| external_account(acme).err());
    wrong.extend(account.map(|why| keyed("server.acme", &format!("server.acme.{why}"))));
    wrong
}

/// An error whose text begins with its key; otherwise it is about this `table`.
fn keyed(table: &str, text: &str) -> ConfigError {
    let (key, problem) = match text.split_once(": ") {
        Some((key, problem)) if !key.contains(' ') => (key, problem),
        _ => (table, text),
    };
    ConfigError { key: key.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reload would take over what the next start refuses, and show it.
    #[test]
    fn each_is_found_with_its_key() {
        let missing = "{ file = \"/no/such/file\" }";
        let provider = "[providers.p]\nbase_url = \"https://h\"\naccounts";
        for (text, key) in [
            (String::new(), None),
            (format!("{provider} = {{}}"), None),
            (format!("{provider}.a.secret = {missing}"), Some("providers.p.accounts.a.secret")),
            ("[data]\nurl = \"postgres://me:hunter2@h/d\"".to_owned(), Some("data.url")),
            (format!("[data]\nurl = \"postgres://h/d\"\npassword = {missing}"), Some("data.password")),
            ("[outgoing]\nproxy = \"http://me:hunter2@h\"".to_owned(), Some("outgoing.proxy")),
            ("[fetch]\nallow_private = [\"a/b\"]".to_owned(), Some("fetch.allow_private")),
            ("[media]\nurl = \"https://me:hunter2@h/b\"".to_owned(), Some("media.url")),
            ("[media.s3]\nregion = \"r\"".to_owned(), Some("media.s3")),
            ("[backup.s3]\nregion = \"r\"".to_owned(), Some("backup.s3.access_key_id")),
            (
                format!("[traces]\nendpoint = \"http://h\"\nheaders = {{ a = {missing} }}"),
                Some("traces.headers.a"),
            ),
            (
                format!("[server.acme]\ndomains = [\"a.b\"]\neab_kid = \"k\"\neab_hmac = {missing}"),
                Some("server.acme.eab_hmac"),
            ),
        ] {
            let config: Config = toml::from_str(&text).unwrap();
            let found = check_services(&config);
            assert_eq!(found.first().map(|error| error.key.as_str()), key, "{text}: {found:?}");
            assert!(found.len() < 2, "{text}: {found:?}");
        }
    }

    /// An operator would mend one, and be told of the next only then.
    #[test]
    fn all_are_found_at_once() {
        let missing = "{ file = \"/no/such/file\" }";
        let text = format!(
            "[providers.p]\nbase_url = \"https://h\"\naccounts.a.secret = {missing}\n\
             [traces]\nendpoint = \"http://h\"\nheaders = {{ a = {missing} }}"
        );
        let config: Config = toml::from_str(&text).unwrap();
        let keys: Vec<String> = check_services(&config).into_iter().map(|error| error.key).collect();
        assert_eq!(keys, ["providers.p.accounts.a.secret", "traces.headers.a"]);
    }
}
