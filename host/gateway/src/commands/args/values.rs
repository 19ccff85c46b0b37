//! The forms of values on the command line: expiries, networks, ids of keys, JSON; and the options that
//! every command has.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use gatehouse_admin::AdminClient;
use gatehouse_model::{Clock as _, Credits, KeyId, PeriodUnit, QuotaPeriod, UnixMs};
use gatehouse_process::SystemClock;
use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::commands::api::ExecuteError;

/// What a command presents to a running gateway whose admin listener speaks TLS.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    /// PEM file of the CA of the admin listener, where that speaks TLS; overrides admin.client.ca
    #[arg(long, global = true, value_name = "FILE")]
    admin_ca: Option<PathBuf>,
    /// PEM file of this command's certificate chain; overrides admin.client.certificate
    #[arg(long, global = true, value_name = "FILE")]
    admin_certificate: Option<PathBuf>,
    /// PEM file of its private key; overrides admin.client.key
    #[arg(long, global = true, value_name = "FILE")]
    admin_key: Option<PathBuf>,
    /// Name in the admin listener's certificate; overrides admin.client.server_name [default: its address]
    #[arg(long, global = true, value_name = "NAME")]
    admin_server_name: Option<String>,
}

impl From<ClientArgs> for AdminClient {
    fn from(args: ClientArgs) -> Self {
        let ClientArgs { admin_ca, admin_certificate, admin_key, admin_server_name } = args;
        Self { ca: admin_ca, certificate: admin_certificate, key: admin_key, server_name: admin_server_name }
    }
}

/// A moment; one that is written as a duration is counted from when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expiry(pub(super) UnixMs);

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(span) = humantime::parse_duration(text) {
            return Ok(Self(SystemClock.now().plus(span)));
        }
        let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
        let moment = humantime::parse_rfc3339(&whole).ok();
        let since = moment.and_then(|moment| moment.duration_since(std::time::UNIX_EPOCH).ok());
        since.map(|since| Self(UnixMs(0).plus(since))).ok_or_else(|| {
            "expected a duration such as 30d or 12h, a date such as 2027-01-31, or a moment such as \
             2027-01-31T12:00:00Z"
                .to_owned()
        })
    }
}

/// A network, or one address as a network.
pub(in crate::commands) fn network(text: &str) -> Result<IpNet, String> {
    text.parse::<IpNet>()
        .or_else(|_| text.parse::<std::net::IpAddr>().map(IpNet::from))
        .map_err(|_| "expected an address or a network such as 10.0.0.0/8 or 2001:db8::/32".to_owned())
}

/// A key's id, from the id itself or from a whole key.
pub(crate) fn key_id(text: &str) -> KeyId {
    text.strip_prefix("sk-").map_or_else(|| KeyId::from(text), |key| KeyId(key.chars().take(10).collect()))
}

/// JSON, or the JSON of a file behind an `@`; `name` is what it is called where it is none.
pub(in crate::commands) fn read_json(name: &str, text: &str) -> Result<Value, ExecuteError> {
    let bytes = read_bytes(text)?;
    let name = text.strip_prefix('@').unwrap_or(name);
    serde_json::from_slice(&bytes)
        .map_err(|error| ExecuteError::Arguments(format!("{name}: expected JSON: {error}")))
}

/// A text's bytes, or those of a file behind an `@`.
pub(in crate::commands) fn read_bytes(text: &str) -> Result<Vec<u8>, ExecuteError> {
    match text.strip_prefix('@') {
        None => Ok(text.as_bytes().to_vec()),
        Some(file) => {
            std::fs::read(file).map_err(|error| ExecuteError::Arguments(format!("{file}: {error}")))
        }
    }
}

/// A day, and ten years, as `[sandbox]` allows them: a provider adds them to its clock.
const MOST_JOB_MS: u64 = 86_400_000;
const MOST_LINK_SECONDS: u64 = 315_360_000;

/// Behaviour of the simulated providers.
#[derive(Clone, Debug, Args)]
pub(crate) struct SandboxArgs {
    /// Milliseconds a job takes
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(..=MOST_JOB_MS))]
    pub(crate) job_ms: u64,
    /// Seconds a provider's own link lives
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(..=MOST_LINK_SECONDS))]
    pub(crate) link_seconds: u64,
}

/// A value, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) struct OrNone<T>(pub(super) Option<T>);

impl<T: FromStr<Err: std::fmt::Display>> FromStr for OrNone<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" | "never" => Ok(Self(None)),
            text => text.parse().map(|value| Self(Some(value))).map_err(|error| format!("{error}, or none")),
        }
    }
}

/// How often a quota resets.
#[derive(Debug, Args)]
pub(in crate::commands) struct PeriodArgs {
    /// The quota resets every day, every week (on Monday) or every month; another period begins with nothing used
    #[arg(long, value_name = "day|week|month|none")]
    per: Option<OrNone<PeriodUnit>>,
    /// Where its midnight is, from UTC [default: UTC]
    #[arg(long, value_name = "+HH:MM", requires = "per", allow_hyphen_values = true, value_parser = offset)]
    offset: Option<String>,
}

impl PeriodArgs {
    /// The period as the API writes it; `None` where nothing is said of it.
    pub(super) fn period(&self) -> Option<Option<String>> {
        let offset = self.offset.as_deref().unwrap_or_default();
        self.per.map(|per| per.0.map(|unit| format!("{}{offset}", unit.as_str())))
    }
}

fn offset(text: &str) -> Result<String, String> {
    match format!("day{text}").parse::<QuotaPeriod>() {
        Ok(_) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("expected +HH:MM or -HH:MM, at most 14 hours, got {text:?}")),
    }
}

/// What changes of a quota and of its period. Without a quota there is no period.
pub(super) fn quota_patch(quota: Option<OrNone<Credits>>, period: &PeriodArgs) -> [Option<Value>; 2] {
    let ends = quota.is_some_and(|quota| quota.0.is_none());
    let period = period.period().or_else(|| ends.then_some(None));
    [quota.map(|quota| json!(quota.0.map(|quota| quota.0))), period.map(|period| json!(period))]
}

/// An object of the fields that are said something of.
pub(super) fn given<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Sandbox {
        #[command(flatten)]
        args: SandboxArgs,
    }

    /// Without it the first job of a simulated provider is a panic: the end of its time cannot be counted.
    #[test]
    fn times_of_simulated_providers_have_an_end() {
        for (argument, is_taken) in [
            ("--job-ms=0", true),
            ("--job-ms=86400000", true),
            ("--job-ms=18446744073709551615", false),
            ("--link-seconds=18446744073709551615", false),
        ] {
            let read = Sandbox::try_parse_from(["sandbox", argument]).map(|read| read.args);
            assert_eq!(read.is_ok(), is_taken, "{argument}: {read:?}");
        }
    }

    #[test]
    fn expiries_are_parsed() {
        let (now, day) = (SystemClock.now(), Duration::from_secs(86_400));
        for (text, span) in [("30d", day * 30), ("12h", day / 2)] {
            let Expiry(moment) = text.parse::<Expiry>().unwrap();
            let expected = now.plus(span);
            let late = moment.since(expected);
            assert!(moment >= expected && late < Duration::from_secs(60), "{text}: {moment}");
        }
        for (text, expected) in [
            ("1970-01-02", Some(Expiry(UnixMs(86_400_000)))),
            ("1970-01-02T00:00:01Z", Some(Expiry(UnixMs(86_401_000)))),
            ("tomorrow", None),
            ("2027-13-01", None),
            ("30", None),
        ] {
            assert_eq!(text.parse::<Expiry>().ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_pasted_key_names_its_id() {
        for text in ["0123456789", "sk-0123456789", "sk-0123456789abcdefghijklmnopqrstuvwxyzabcdefghijkl"] {
            assert_eq!(key_id(text), KeyId::from("0123456789"));
        }
    }
}
