//! Settings of the public listeners. Never reads a file: `gateway` passes them parsed.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use gatehouse_model::settings;
use gatehouse_net::{ConnectionLimits, HandshakeLimits, TlsFiles};
use ipnet::IpNet;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::acme::Acme;
use crate::cors::Cors;

settings! {
    /// The `[server]` table.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Config {
        /// Addresses to listen on, one as text or several as a list; port 0 takes a free one.
        #[serde(deserialize_with = "one_or_many")]
        pub listen: Vec<SocketAddr> = vec![SocketAddr::from(([127, 0, 0, 1], 8080))],
        /// The start of links in responses. Without it: the scheme and host that a trusted proxy forwards, else
        /// those of the request itself.
        pub public_url: Option<PublicUrl> = None,
        /// Certificate and key; without them the listener speaks cleartext HTTP.
        pub tls: Option<Tls> = None,
        /// A certificate that an authority issues, in place of files.
        pub acme: Option<Acme> = None,
        /// Accept HTTP/2 on cleartext listeners too (prior knowledge). Over TLS it is always offered.
        pub cleartext_http2: bool = false,
        /// Milliseconds between the signal to stop and the last accepted connection: `/readyz` refuses, every
        /// response ends its connection, requests are still served.
        pub lame_duck_ms: u32 = 1000,
        /// Seconds for which browsers shall use TLS only (`Strict-Transport-Security`, on answers over TLS); 0: no such header.
        pub hsts_seconds: u32 = 0,
        /// Pages of other origins that may call the API from a browser.
        pub cors: Cors = Cors::default(),
        /// Whether there is a page for customers at `/account`.
        pub account_page: bool = true,
        /// Networks whose `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` count.
        pub trusted_proxies: Vec<IpNet> = Vec::new(),
        /// Threads that serve sockets, those to providers too; 0: one for every two processors. The gateway's runtime is made
        /// with them.
        pub threads: u8 = 0,
        /// Limits on everything a client can make the gateway hold or wait for.
        pub limits: Limits = Limits::default(),
    }
}

impl Config {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The key below `server`, and what was expected.
    pub fn check(&self) -> Result<(), (String, String)> {
        let Some(acme) = &self.acme else { return Ok(()) };
        if self.tls.is_some() {
            let message =
                "expected one of [server.tls] and [server.acme], got both; remove the one that is not meant";
            return Err(("acme".to_owned(), message.to_owned()));
        }
        acme.check().map_err(|(key, message)| (format!("acme.{key}"), message))
    }
}

/// The `[server.tls]` table: PEM files, read at start and on reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The leaf's private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PathBuf,
}

impl Tls {
    /// The files as the listeners read them.
    #[must_use]
    pub fn files(&self) -> TlsFiles {
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        TlsFiles { table: "server.tls", certificate, key, client_ca: None, http2: true }
    }
}

settings! {
    /// The `[server.limits]` table.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Limits {
        /// KiB of one HTTP/1 request head.
        pub head_kib: NonZeroU32 = at_least_one(32),
        /// Header lines in one request.
        pub headers: NonZeroU32 = at_least_one(64),
        /// Seconds from a head's first byte (or the connection's first moment) to its end.
        pub head_seconds: NonZeroU32 = at_least_one(10),
        /// MiB of one request body.
        pub body_mib: NonZeroU32 = at_least_one(32),
        /// Seconds a body may pause.
        pub body_idle_seconds: NonZeroU32 = at_least_one(15),
        /// Seconds a body may take altogether.
        pub body_seconds: NonZeroU32 = at_least_one(120),
        /// Minimum bytes per second of a body, in every span beyond `body_idle_seconds`; a fast start earns no more.
        pub body_bytes_per_second: NonZeroU32 = at_least_one(1024),
        /// MiB of memory that request bodies take at once, all clients together; absent: half of the memory, 2048 at most. A byte
        /// of a body, or of the kept conversation that its request goes on from, counts as four until the request is over, and as
        /// two while the answer is streamed. A customer takes at most as much as it leaves free, a key at most as much as it
        /// leaves free of that. A request that would not fit alone is refused as too large.
        pub bodies_mib: Option<NonZeroU32> = None,
        /// Open connections. Beyond, one that carries no request with a key gives way.
        pub connections: NonZeroU32 = at_least_one(4096),
        /// Open connections of one IPv4 address or IPv6 /64. Trusted proxies are exempt.
        pub connections_per_ip: NonZeroU32 = at_least_one(512),
        /// Open connections of one network (IPv4 /24, IPv6 /56), at least `connections_per_ip`. Beyond, one of its own that
        /// carries no request with a key gives way.
        pub connections_per_network: NonZeroU32 = at_least_one(1024),
        /// Requests of one API key under way at once.
        pub requests_per_key: NonZeroU32 = at_least_one(512),
        /// Requests of all keys of one customer under way at once, at least `requests_per_key`.
        pub requests_per_customer: NonZeroU32 = at_least_one(1024),
        /// Streams of task events of one customer at once.
        pub task_streams_per_customer: NonZeroU32 = at_least_one(64),
        /// Seconds that a request waits for its task where its answer is the result (OpenAI's `images`); the task goes on after.
        pub task_wait_seconds: NonZeroU32 = at_least_one(180),
        /// Seconds for the TLS handshake.
        pub tls_seconds: NonZeroU32 = at_least_one(5),
        /// TLS handshakes under way at once; more wait, within `tls_seconds`.
        pub handshakes: NonZeroU32 = at_least_one(512),
        /// HTTP/2 streams of one connection at once.
        pub streams: NonZeroU32 = at_least_one(128),
        /// KiB of one HTTP/2 header list.
        pub header_list_kib: NonZeroU32 = at_least_one(16),
        /// Seconds a connection may stay open without a request under way. A response counts as one while its client takes it: over
        /// HTTP/2, at least 4 KiB of it in that time.
        pub idle_seconds: NonZeroU32 = at_least_one(75),
        /// Seconds a client may take no bytes of its response.
        pub write_seconds: NonZeroU32 = at_least_one(60),
        /// Seconds without an event after which a streamed response sends a keep-alive.
        pub keep_alive_seconds: NonZeroU32 = at_least_one(15),
    }
}

/// An `http` or `https` address without query and without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PublicUrl(String);

impl Limits {
    /// Connections of one network: never fewer than one address may have.
    pub(crate) fn connections_of_network(&self) -> usize {
        count(self.connections_per_network.max(self.connections_per_ip))
    }

    /// Requests of one customer: never fewer than one of its keys may have.
    pub(crate) fn requests_of_customer(&self) -> usize {
        count(self.requests_per_customer.max(self.requests_per_key))
    }

    /// The part that concerns TLS handshakes, of any listener.
    #[must_use]
    pub fn of_handshakes(&self) -> HandshakeLimits {
        HandshakeLimits { time: seconds(self.tls_seconds), at_once: count(self.handshakes) }
    }

    /// The part that concerns a single connection, of any listener.
    #[must_use]
    pub fn of_connections(&self) -> ConnectionLimits {
        ConnectionLimits {
            head: seconds(self.head_seconds),
            idle: seconds(self.idle_seconds),
            write: seconds(self.write_seconds),
            // hyper's own limits are twice ours: ours respond with an error envelope, hyper's with a bare status.
            head_bytes: kib(self.head_kib).saturating_mul(2).max(16 * 1024),
            headers: count(self.headers).saturating_mul(2),
            streams: self.streams.get(),
            header_list_bytes: u32::try_from(kib(self.header_list_kib)).unwrap_or(u32::MAX),
        }
    }
}

const fn at_least_one(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("the defaults above are literals greater than zero")
}

/// One address is the common case, and an environment variable can express only one.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
    struct Addresses;
    impl<'de> Visitor<'de> for Addresses {
        type Value = Vec<SocketAddr>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an address such as \"127.0.0.1:8080\", or a list of them")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            text.parse()
                .map(|address| vec![address])
                .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    deserializer.deserialize_any(Addresses)
}

/// A setting in seconds as a span.
pub(crate) fn seconds(setting: NonZeroU32) -> Duration {
    Duration::from_secs(u64::from(setting.get()))
}

/// A setting as a count.
pub(crate) const fn count(setting: NonZeroU32) -> usize {
    setting.get() as usize
}

/// A setting in KiB as bytes.
pub(crate) const fn kib(setting: NonZeroU32) -> usize {
    count(setting).saturating_mul(1024)
}

/// A setting in MiB as bytes.
pub(crate) const fn mib(setting: NonZeroU32) -> usize {
    kib(setting).saturating_mul(1024)
}

impl PublicUrl {
    /// The address, no slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let valid = url::Url::parse(&text).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        });
        if valid {
            return Ok(Self(text.trim_end_matches('/').to_owned()));
        }
        Err(format!("public_url: expected an address such as \"https://api.example.com\", not {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_the_default() {
        assert_eq!(toml::from_str::<Config>("").unwrap(), Config::default());
    }

    #[test]
    fn a_full_table_is_read() {
        let config: Config = toml::from_str(
            r#"
            listen = ["0.0.0.0:443", "[::]:443"]
            public_url = "https://api.example.com/gate/"
            tls = { certificate = "chain.pem", key = "key.pem" }
            cleartext_http2 = true
            trusted_proxies = ["10.0.0.0/8", "fd00::/8"]
            limits = { body_mib = 4, idle_seconds = 5 }
            "#,
        )
        .unwrap();
        assert_eq!(config.listen.len(), 2);
        assert_eq!(config.public_url.unwrap().as_str(), "https://api.example.com/gate");
        assert_eq!(mib(config.limits.body_mib), 4 << 20);
        assert_eq!(config.limits.head_kib, Limits::default().head_kib);
        let one: Config = toml::from_str("listen = \"[::1]:0\"").unwrap();
        assert_eq!(one.listen, ["[::1]:0".parse().unwrap()], "one address needs no list");
    }

    #[test]
    fn errors_are_refused_and_named() {
        for (text, named) in [
            ("lisen = []", "lisen"),
            ("listen = [\"localhost\"]", "socket address"),
            ("listen = \"localhost\"", "127.0.0.1:8080"),
            ("public_url = \"ftp://x\"", "public_url"),
            ("public_url = \"https://user@x\"", "public_url"),
            ("public_url = \"https://x?y\"", "public_url"),
            ("trusted_proxies = [\"10.0.0.0/33\"]", "address"),
            ("limits = { connections = 0 }", "nonzero"),
            ("limits = { body_mb = 1 }", "body_mb"),
            ("tls = { certificate = \"c\" }", "key"),
        ] {
            let error = toml::from_str::<Config>(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
