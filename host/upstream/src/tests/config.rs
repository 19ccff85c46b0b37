//! The configuration as operators write it, right and wrong.

use std::path::PathBuf;

use super::*;
use crate::auth::scheme::Auth;

const FULL: &str = r#"
[providers.bfl]
base_url = "https://api.bfl.ai"
auth = { header = "x-key" }
origins = ["https://*.bfl.ai"]
media_origins = ["https://*.bfl.ai", "https://cdn.example.com:8443"]
concurrency = 24
rate_per_second = 5.5
connect_timeout_ms = 3000
total_timeout_ms = 60000
max_reply_mib = 4
max_saved_mib = 100

[providers.bfl.accounts.main]
secret = { env = "BFL_KEY" }
priority = 1
weight = 3
concurrency = 12
rate_per_second = 2

[providers.bfl.accounts.spare]
secret = { file = "/run/secrets/bfl" }

[providers.local]
base_url = "http://127.0.0.1:4567/v1"
auth = "none"
[providers.local.accounts.main]

[fetch]
allow_private = ["127.0.0.1:4567", "cdn.internal", "[::1]:8080"]
connect_timeout_ms = 2000
min_bytes_per_second = 1
"#;

#[test]
fn a_full_file_is_understood() {
    let config = config(FULL);
    assert_eq!(config.providers["bfl"].auth, Auth::Header("x-key".to_owned()));
    assert_eq!(config.providers["local"].auth, Auth::None);
    let secrets: Vec<(String, &SecretRef)> = config.secrets().collect();
    assert_eq!(
        secrets,
        [
            ("providers.bfl.accounts.main.secret".to_owned(), &SecretRef::Env("BFL_KEY".to_owned())),
            (
                "providers.bfl.accounts.spare.secret".to_owned(),
                &SecretRef::File(PathBuf::from("/run/secrets/bfl"))
            ),
        ]
    );
    let upstream = build(FULL, "k").unwrap();
    assert!(upstream.knows("bfl") && upstream.knows("local"));
    assert_eq!(upstream.acquire_call("local", "main").unwrap().account(), "main");
}

#[test]
fn an_empty_file_is_fine() {
    assert_eq!(build("", "k").unwrap().providers().len(), 0);
}

#[test]
fn the_forms_of_auth() {
    for (text, auth) in [
        ("\"bearer\"", Some(Auth::Bearer)),
        ("\"none\"", Some(Auth::None)),
        ("{ bearer = true }", Some(Auth::Bearer)),
        ("{ header = \"x-key\" }", Some(Auth::Header("x-key".to_owned()))),
        ("{ query = \"key\" }", Some(Auth::Query("key".to_owned()))),
        ("{ bearer = false }", None),
        ("{ header = \"a\", query = \"b\" }", None),
        ("{ cookie = \"a\" }", None),
        ("{}", None),
        ("\"basic\"", None),
        ("3", None),
    ] {
        #[derive(serde::Deserialize)]
        struct Holder {
            auth: Auth,
        }
        let read = toml::from_str::<Holder>(&format!("auth = {text}")).ok().map(|holder| holder.auth);
        assert_eq!(read, auth, "{text}");
    }
}

#[test]
fn mistakes_are_told_by_key_and_remedy() {
    let origin = "expected an origin such as https://cdn.example.com or https://*.example.com";
    let with = |more: &str| provider("https://api.example.com", more);
    for (text, message) in [
        (provider("api.bfl.ai", ""), "providers.p.base_url: expected an http(s) URL, got \"api.bfl.ai\"".to_owned()),
        (provider("ftp://bfl.ai", ""), "providers.p.base_url: expected an http(s) URL, got \"ftp://bfl.ai\"".to_owned()),
        (
            provider("https://u:p@bfl.ai", ""),
            "providers.p.base_url: credentials do not belong in a URL; use accounts.<name>.secret".to_owned(),
        ),
        (
            provider("https://bfl.ai/?a=b", ""),
            "providers.p.base_url: expected a URL without query and fragment, got \"https://bfl.ai/?a=b\"".to_owned(),
        ),
        (
            with("origins = [\"https://a.b\", \"bfl.ai\"]"),
            format!("providers.p.origins[1]: {origin}, got \"bfl.ai\""),
        ),
        (
            with("media_origins = [\"http://*.bfl.ai\"]"),
            "providers.p.media_origins[0]: a pattern with * needs https, got \"http://*.bfl.ai\"".to_owned(),
        ),
        (with("auth = { header = \"x key\" }"), "providers.p.auth: expected a header name, got \"x key\"".to_owned()),
        (with("total_timeout_ms = 0"), "providers.p.total_timeout_ms: expected milliseconds above 0, got 0".to_owned()),
        (with("max_reply_mib = 0"), "providers.p.max_reply_mib: expected 1 or more, got 0".to_owned()),
        (with("concurrency = 0"), "providers.p.accounts.main.concurrency: expected 1 or more, got 0".to_owned()),
        (
            with("rate_per_second = 0"),
            "providers.p.accounts.main.rate_per_second: expected a number above 0, got 0".to_owned(),
        ),
        (
            "[providers.p]\nbase_url = \"https://a.b\"\n[providers.p.accounts.main]".to_owned(),
            "providers.p.accounts.main.secret: expected { env = \"NAME\" } or { file = \"path\" }, got nothing".to_owned(),
        ),
        (
            "[providers.p]\nbase_url = \"https://a.b\"\naccounts = {}".to_owned(),
            "providers.p.accounts: expected at least one account, e.g. [providers.p.accounts.main]".to_owned(),
        ),
        (
            with("headers = { \"a b\" = \"c\" }"),
            "providers.p.headers.a b: expected the name of a header".to_owned(),
        ),
        (
            with("headers = { Host = \"c\" }"),
            "providers.p.headers.Host: expected a header that neither the gateway nor the accounts' `auth` sets".to_owned(),
        ),
        (
            with("headers = { x-own = \"c\" }\nauth = { header = \"x-own\" }"),
            "providers.p.headers.x-own: expected a header that neither the gateway nor the accounts' `auth` sets".to_owned(),
        ),
        (
            with("headers = { a = \"b\\nc\" }"),
            "providers.p.headers.a: the value holds characters that cannot be sent".to_owned(),
        ),
        (
            with("query = { key = \"c\" }\nauth = { query = \"key\" }"),
            "providers.p.query.key: expected a parameter that the accounts' `auth` does not set".to_owned(),
        ),
        (
            with("proxy = \"https://proxy\""),
            "providers.p.proxy: expected http://host:port, got \"https://proxy\"".to_owned(),
        ),
        (
            "[outgoing]\nproxy = \"http://proxy\"\nproxy_login = { env = \"L\" }".to_owned(),
            "outgoing.proxy_login: expected user:password".to_owned(),
        ),
        (
            "[outgoing]\nno_proxy = [\"a\", \"http://b\"]".to_owned(),
            "outgoing.no_proxy[1]: expected a name, a domain such as .internal, an address or a network such as 10.0.0.0/8, got \"http://b\"".to_owned(),
        ),
        (
            "[fetch]\nallow_private = [\"http://a/\"]".to_owned(),
            "fetch.allow_private: expected host or host:port, got \"http://a/\"".to_owned(),
        ),
        (
            "[fetch]\nconnect_timeout_ms = 0".to_owned(),
            "fetch.connect_timeout_ms: expected milliseconds above 0, got 0".to_owned(),
        ),
    ] {
        assert_eq!(build(&text, "k").err(), Some(message));
    }
    assert!(build("[providers.p]\nbase = \"x\"", "k").err().unwrap().contains("unknown field `base`"));
}

#[test]
fn what_may_be_private_is_named_plainly() {
    for entry in [
        "",
        ":80",
        "*.internal",
        "10.0.0.0/8",
        "::1",
        "http://cdn.internal",
        "cdn.internal/path",
        "cdn.internal\\path",
        "cdn.internal?query",
        "cdn.internal#fragment",
        "user@cdn.internal",
        ":pw@cdn.internal",
        "cdn%2einternal",
        "cdn.internal:http",
        "cdn.internal:65536",
        "cdn.internal:80\t",
        "cdn.internal ",
        "cdn\n.internal",
        "a.internal, b.internal",
    ] {
        let text = format!("[fetch]\nallow_private = [{entry:?}]");
        let message = format!("fetch.allow_private: expected host or host:port, got {entry:?}");
        assert_eq!(build(&text, "k").err(), Some(message));
    }
}

#[test]
fn a_bad_secret_is_told_without_its_value() {
    let config = provider("https://a.b", "");
    for (secret, problem) in
        [(" \n", "the secret is empty"), ("s3cr\net", "the secret holds characters that cannot be sent")]
    {
        let message = build(&config, secret).err().unwrap();
        assert_eq!(message, format!("providers.p.accounts.main.secret: {problem}"));
    }
    assert!(build(&config, " trimmed\n").is_ok());
    let config = toml::from_str(&config).unwrap();
    let missing = |_: &SecretRef| Err("the environment variable KEY is not set".to_owned());
    let (clock, seed) = (TestClock::skipping_pauses_at(0), Arc::new(TestSeed::default()));
    let error = Upstream::new(&config, &missing, clock, seed, Arc::new(SystemResolver)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "providers.p.accounts.main.secret: the environment variable KEY is not set"
    );
}
