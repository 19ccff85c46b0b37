//! The configuration of accounts that sign or fetch tokens, right and wrong.

use super::*;

const KEY_FILE: &str =
    r#"{"type":"service_account","client_email":"a@p.test","private_key":"KEY","token_uri":"URI"}"#;

fn key_file(pem: &str, uri: &str) -> String {
    KEY_FILE.replace("KEY", &pem.replace('\n', "\\n")).replace("URI", uri)
}

fn problem(text: &str, secret: &str) -> Option<String> {
    build(text, secret).err()
}

#[test]
fn an_account_may_authenticate_in_a_way_of_its_own() {
    let text = "[providers.p]\nbase_url = \"https://p.test\"\nauth = { header = \"x-key\" }\n\
        [providers.p.accounts.key]\nsecret = { env = \"A\" }\n\
        [providers.p.accounts.signed]\nkey_id = { env = \"B\" }\nsecret = { env = \"C\" }\n\
        auth = { hmac = { form = \"aws4\", region = \"us-east-1\", service = \"bedrock\" } }\n\
        [providers.p.accounts.open]\nauth = \"none\"\n";
    assert_eq!(problem(text, "k"), None);
    let config = config(text);
    let keys: Vec<String> = config.secrets().map(|(key, _)| key).collect();
    assert_eq!(
        keys,
        [
            "providers.p.accounts.key.secret",
            "providers.p.accounts.signed.key_id",
            "providers.p.accounts.signed.secret"
        ]
    );
}

#[test]
fn errors_name_the_key_and_what_was_expected() {
    let with = |auth: &str, more: &str| format!("{}{more}\n", provider("https://p.test", auth));
    let hmac = |region: &str, headers: &str| {
        let more = format!(
            "auth = {{ hmac = {{ form = \"volcengine\", region = \"{region}\", service = \"ark\", headers = [{headers}] }} }}"
        );
        with(&more, "key_id = { env = \"B\" }")
    };
    for (text, expected) in [
        (
            with("auth = \"jwt\"", ""),
            "providers.p.accounts.main.key_id: expected { env = \"NAME\" } or { file = \"path\" }, got nothing",
        ),
        (
            with("auth = { jwt = { lifetime_s = 0 } }", "key_id = { env = \"B\" }"),
            "providers.p.auth.jwt.lifetime_s: expected seconds above 0, got 0",
        ),
        (
            with("", "key_id = { env = \"B\" }"),
            "providers.p.accounts.main.key_id: only auth jwt and hmac have a key id; remove it, or set auth",
        ),
        (hmac("", ""), "providers.p.auth.hmac.region: expected letters, digits, - _ and ., got \"\""),
        (hmac("a/b", ""), "providers.p.auth.hmac.region: expected letters, digits, - _ and ., got \"a/b\""),
        (
            hmac("r", "\"x\", \"a b\""),
            "providers.p.auth.hmac.headers[1]: expected a header name, got \"a b\"",
        ),
        (
            with("auth = { service_account = { token_url = \"http://p.test/token\" } }", ""),
            "providers.p.auth.service_account.token_url: expected an https URL, got \"http://p.test/token\"",
        ),
        (
            with("", "auth = { service_account = { token_url = \"p.test\" } }"),
            "providers.p.accounts.main.auth.service_account.token_url: expected an https URL, got \"p.test\"",
        ),
    ] {
        assert_eq!(problem(&text, "k").as_deref(), Some(expected), "{text}");
    }
    assert_eq!(problem(&hmac("cn-beijing", "\"x-project\""), "k"), None);
}

#[test]
fn a_key_file_must_be_one_and_name_the_expected_endpoint() {
    let google = "https://oauth2.googleapis.com/token";
    let remedy = "name the JSON key file that was downloaded for the service account";
    let pem = "the key file's `private_key` is not an RSA key of 2048 bits or more in PEM";
    let plain = provider("https://p.test", "auth = \"service_account\"");
    let own =
        provider("https://p.test", "auth = { service_account = { token_url = \"https://tokens.test/\" } }");
    for (text, secret, expected) in [
        (&plain, key_file(PKCS8, google), None),
        (&plain, key_file(include_str!("keys/pkcs1.pem"), google), None),
        (&plain, key_file(PKCS8, google).replace("token_uri", "other"), None),
        (&own, key_file(PKCS8, "https://tokens.test/v2/token"), None),
        (
            &plain,
            format!("{{\"a\": {SIGNING_SECRET}"),
            Some(format!("expected a key file in JSON, got none (line 1, column 7); {remedy}")),
        ),
        (&plain, SECRET.to_owned(), Some(format!("expected a key file in JSON, got none (line 1, column 1); {remedy}"))),
        (&plain, "{}".to_owned(), Some(format!("the key file has no `client_email`; {remedy}"))),
        (
            &plain,
            key_file(PKCS8, google).replace("service_account", "authorized_user"),
            Some(format!("the key file's `type` is not service_account; {remedy}")),
        ),
        (&plain, key_file("sk-secret", google), Some(format!("{pem} (no key in PEM); {remedy}"))),
        (&plain, key_file(include_str!("keys/ec.pem"), google), Some(format!("{pem} (WrongAlgorithm); {remedy}"))),
        (&plain, key_file(include_str!("keys/small.pem"), google), Some(format!("{pem} (TooSmall); {remedy}"))),
        (
            &plain,
            key_file(PKCS8, "http://oauth2.googleapis.com/token"),
            Some(
                "the `token_uri` of the key file: expected an https URL, got \"http://oauth2.googleapis.com/token\""
                    .to_owned(),
            ),
        ),
        (
            &plain,
            key_file(PKCS8, "https://tokens.test/token"),
            Some(
                "the `token_uri` of the key file is at https://tokens.test:443, expected https://oauth2.googleapis.com:443; \
                 set token_url in providers.p.auth.service_account to the right one"
                    .to_owned(),
            ),
        ),
    ] {
        let expected = expected.map(|problem| format!("providers.p.accounts.main.secret: {problem}"));
        assert_eq!(problem(text, &secret), expected);
    }
}
