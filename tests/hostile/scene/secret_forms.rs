//! Random secrets, their written forms, and a search for all of them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;

const LENGTH: usize = 40;

/// A secret of letters and digits.
pub(crate) fn letters() -> String {
    of(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
}

/// A secret whose encoded forms all differ from it.
pub(crate) fn any() -> String {
    format!("{}+/=\"\\%", of(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=-_.~\"\\%&"))
}

fn of(alphabet: &[u8]) -> String {
    let mut random = [0; LENGTH];
    getrandom::fill(&mut random).expect("randomness");
    random.iter().map(|byte| char::from(alphabet[usize::from(*byte) % alphabet.len()])).collect()
}

fn each(secret: &[u8], show: impl Fn(u8) -> String) -> String {
    secret.iter().map(|byte| show(*byte)).collect()
}

/// Ways to write a secret down, by name.
pub(crate) fn forms(secret: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let plain_in_url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte);
    let percent =
        |byte: u8| if plain_in_url(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let json = serde_json::to_string(&String::from_utf8_lossy(secret)).expect("a string");
    let mut forms = vec![
        ("plain", secret.to_vec()),
        ("backwards", secret.iter().rev().copied().collect()),
        ("hex", each(secret, |byte| format!("{byte:02x}")).into()),
        ("HEX", each(secret, |byte| format!("{byte:02X}")).into()),
        ("percent", each(secret, percent).into()),
        ("percent of everything", each(secret, |byte| format!("%{byte:02x}")).into()),
        ("JSON", json[1..json.len() - 1].into()),
        ("JSON, slashes escaped", json[1..json.len() - 1].replace('/', "\\/").into()),
        ("JSON of everything", each(secret, |byte| format!("\\u{byte:04x}")).into()),
    ];
    // The part of its base64 that does not depend on the bytes around it.
    for (name, before, unsure) in
        [("base64", 0, 0), ("base64 shifted by 1", 1, 2), ("base64 shifted by 2", 2, 3)]
    {
        let bytes = [&[0; 2][..before], secret].concat();
        let sure = unsure..bytes.len() * 8 / 6;
        forms.push((name, STANDARD_NO_PAD.encode(&bytes)[sure.clone()].into()));
        forms.push((name, URL_SAFE_NO_PAD.encode(&bytes)[sure].into()));
    }
    forms
}

/// A search for many secrets in all their forms at once.
#[derive(Default)]
pub(crate) struct SecretSearch {
    forms: Vec<(String, Finder<'static>)>,
}

impl SecretSearch {
    /// One more secret, under a name that may be printed.
    pub(crate) fn also_for(mut self, name: &str, secret: &[u8]) -> Self {
        let forms = forms(secret).into_iter();
        self.forms.extend(
            forms.map(|(form, bytes)| (format!("{name} ({form})"), Finder::new(&bytes).into_owned())),
        );
        self
    }

    /// The names and forms of the secrets found in `bytes`.
    pub(crate) fn found(&self, bytes: &[u8]) -> BTreeSet<String> {
        let found = self.forms.iter().filter(|(_, form)| form.find(bytes).is_some());
        found.map(|(name, _)| name.clone()).collect()
    }
}
