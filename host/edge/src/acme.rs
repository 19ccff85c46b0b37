//! The `[server.acme]` table: for which names an authority issues the listeners' certificate, and where it is asked.

use gatehouse_model::{SecretRef, settings};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// Names in one certificate, as public authorities have it.
const MOST_DOMAINS: usize = 100;
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

settings! {
    /// The `[server.acme]` table.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Acme {
        /// The names that clients know the gateway by. Each leads to a listener on port 443, where the authority validates it.
        pub domains: Vec<String> = Vec::new(),
        /// An e-mail address that the authority may write to.
        pub contact: Option<String> = None,
        /// The authority's directory.
        pub directory: Url = LETS_ENCRYPT.parse().expect("a constant of this file"),
        /// The name of a customer's account at an authority that serves its customers alone (external account binding).
        pub eab_kid: Option<String> = None,
        /// The key that goes with it, in base64 as the authority shows it.
        pub eab_hmac: Option<SecretRef> = None,
    }
}

impl Acme {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The key below `server.acme`, and what was expected.
    pub fn check(&self) -> Result<(), (String, String)> {
        if !(1..=MOST_DOMAINS).contains(&self.domains.len()) {
            let got = self.domains.len();
            return Err(("domains".to_owned(), format!("expected 1 to {MOST_DOMAINS} names, got {got}")));
        }
        if let Some(domain) = self.domains.iter().find(|domain| !is_name(domain)) {
            let expected = "expected names such as \"api.example.com\" without a port, no address and no `*`";
            let remedy = "an authority validates each name by a TLS handshake with it, so write each one out";
            return Err(("domains".to_owned(), format!("{expected}, got {domain:?}; {remedy}")));
        }
        if let Some(contact) = self.contact.as_ref().filter(|contact| !is_address(contact)) {
            let expected = "expected an e-mail address such as \"ops@example.com\"";
            return Err(("contact".to_owned(), format!("{expected}, got {contact:?}")));
        }
        if self.directory.scheme() != "https" || !self.directory.username().is_empty() {
            let expected = "expected an address that begins with https:// and has no login";
            return Err(("directory".to_owned(), format!("{expected}, got {:?}", self.directory.as_str())));
        }
        let lacking = match (&self.eab_kid, &self.eab_hmac) {
            (Some(kid), Some(_)) if kid.trim().is_empty() => Some(("eab_kid", "an id, got an empty text")),
            (Some(_), None) => {
                Some(("eab_hmac", "the key that the authority gives with eab_kid, got nothing"))
            }
            (None, Some(_)) => {
                Some(("eab_kid", "the id that the authority gives with eab_hmac, got nothing"))
            }
            _ => None,
        };
        if let Some((key, expected)) = lacking {
            return Err((key.to_owned(), format!("expected {expected}")));
        }
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    text.chars().all(is_part)
        && text.split('.').all(|label| (1..=63).contains(&label.len()))
        && matches!(Host::parse(text), Ok(Host::Domain(_)))
}

fn is_address(text: &str) -> bool {
    let parts = text.split_once('@');
    parts
        .is_some_and(|(user, host)| !user.is_empty() && !user.contains([':', ' ', ',', '?']) && is_name(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it an authority refuses an order, minutes after the start, for a word that could be read before.
    #[test]
    fn what_no_authority_would_take_is_refused_by_its_key() {
        let check = |text: &str| {
            let read = toml::from_str::<Acme>(text).map_err(|error| error.to_string())?;
            read.check().map_err(|(key, why)| format!("{key}: {why}"))
        };
        assert_eq!(
            check("domains = [\"api.example.com\", \"localhost\"]\ncontact = \"ops@example.com\""),
            Ok(())
        );
        let bound = "domains = [\"a.example\"]\neab_kid = \"k\"\neab_hmac = { env = \"EAB\" }";
        assert_eq!(check(bound), Ok(()));
        for (text, expected) in [
            ("", "domains: expected 1 to 100 names, got 0"),
            ("domains = [\"*.example.com\"]", "no `*`"),
            ("domains = [\"127.0.0.1\"]", "got \"127.0.0.1\""),
            ("domains = [\"a.example:443\"]", "without a port"),
            ("domains = [\"a..example\"]", "got \"a..example\""),
            (
                "domains = [\"a.example\"]\ncontact = \"mailto:ops@example.com\"",
                "contact: expected an e-mail",
            ),
            (
                "domains = [\"a.example\"]\ndirectory = \"http://ca.example\"",
                "directory: expected an address",
            ),
            ("domains = [\"a.example\"]\ndirectory = \"ca.example\"", "directory"),
            ("domain = \"a.example\"", "domain"),
            ("domains = [\"a.example\"]\neab_kid = \"k\"", "eab_hmac: expected the key"),
            ("domains = [\"a.example\"]\neab_hmac = { env = \"EAB\" }", "eab_kid: expected the id"),
            (
                "domains = [\"a.example\"]\neab_kid = \" \"\neab_hmac = { env = \"EAB\" }",
                "eab_kid: expected an id",
            ),
            ("domains = [\"a.example\"]\neab_kid = \"k\"\neab_hmac = \"c2VjcmV0\"", "eab_hmac"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
