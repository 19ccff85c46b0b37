//! The commands about API keys: their options, and the operations they mean.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use gatehouse_admin::{KeyPatch, LimitsPatch, NewKey, Operation};
use gatehouse_model::{ChatFormat, Clock as _, Credits, CustomerId, KeyPolicy, Limits, UnixMs};
use ipnet::IpNet;

use super::values::{Expiry, OutputArgs, key_id, network};
use crate::system::SystemClock;

/// Commands about keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key; it is shown once
    #[command(after_help = "Examples:
  gatehouse key create laptop --account alice --unlimited
  gatehouse key create ci --account alice --quota 12.5 --model ctx-pro --ip 10.0.0.0/8 --expires 30d
  gatehouse key create app --account alice --unlimited --rpm 60 --tpm 100000 --model-limit ctx-pro=concurrency:2")]
    Create(CreateKeyArgs),
    /// List keys
    List {
        /// Only this customer's
        #[arg(long = "account", visible_alias = "customer", value_name = "CUSTOMER")]
        customer: Option<String>,
        /// Revoked ones too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one key's policy and use
    Show {
        /// The ten characters after `sk-`
        key: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Change a key's policy; what is not named stays
    #[command(after_help = "Examples:
  gatehouse key edit 0123456789 --quota 20 --rpm none
  gatehouse key edit 0123456789 --model-limit ctx-pro=rpm:5,concurrency:none --model-limit ctx-max=none")]
    Edit(EditKeyArgs),
    /// Replace a key by a new one of the same policy, which is shown once
    #[command(
        after_help = "Both keys spend one quota. Example:\n  gatehouse key rotate 0123456789 --overlap 1h"
    )]
    Rotate {
        /// The ten characters after `sk-`
        key: String,
        /// How long the old key goes on working, up to 7d
        #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = humantime::parse_duration)]
        overlap: Duration,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Revoke a key at once
    Revoke {
        /// The ten characters after `sk-`
        key: String,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// A key's policy.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("spending").required(true).args(["quota", "unlimited"])))]
pub(crate) struct CreateKeyArgs {
    /// A name for people
    name: String,
    /// The customer that pays
    #[arg(long = "account", visible_alias = "customer", value_name = "CUSTOMER")]
    customer: String,
    /// Credits it may spend in all; this or --unlimited
    #[arg(long, value_name = "CREDITS")]
    quota: Option<Credits>,
    /// No limit but the customer's balance; this or --quota
    #[arg(long)]
    unlimited: bool,
    /// A model it may use; repeat for more [default: all]
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Take names of models that are not served now and come later
    #[arg(long)]
    force: bool,
    /// A network it may be used from, such as 10.0.0.0/8 or 2001:db8::1; repeat for more [default: all]
    #[arg(long = "ip", value_name = "CIDR", value_parser = network)]
    networks: Vec<IpNet>,
    /// Its expiry: 30d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z [default: never]
    #[arg(long, value_name = "WHEN")]
    expires: Option<Expiry>,
    /// Form of chat completions: wrapped in {code, data}, or bare as OpenAI clients expect
    #[arg(long, value_name = "wrapped|bare", default_value = "wrapped")]
    chat_format: ChatFormat,
    /// Requests a minute [default: no limit]
    #[arg(long, value_name = "N")]
    rpm: Option<NonZeroU32>,
    /// Tokens of text requests a minute [default: no limit]
    #[arg(long, value_name = "N")]
    tpm: Option<NonZeroU32>,
    /// Live tasks and open text requests [default: no limit]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroU32>,
    /// Limits of one model besides, such as ctx-pro=rpm:5,tpm:1000,concurrency:2; repeat for more models
    #[arg(long = "model-limit", value_name = "MODEL=LIMITS")]
    model_limits: Vec<ModelLimit>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Changes of a key's policy.
#[derive(Debug, Args)]
pub(crate) struct EditKeyArgs {
    /// The ten characters after `sk-`
    key: String,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// Credits it may spend in all, or none for no limit
    #[arg(long, value_name = "CREDITS|none")]
    quota: Option<OrNone<Credits>>,
    /// A model it may use, instead of those before; repeat for more
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Take names of models that are not served now and come later
    #[arg(long)]
    force: bool,
    /// Let it use all models
    #[arg(long, conflicts_with = "models")]
    all_models: bool,
    /// A network it may be used from, instead of those before; repeat for more
    #[arg(long = "ip", value_name = "CIDR", value_parser = network)]
    networks: Vec<IpNet>,
    /// Let it be used from anywhere
    #[arg(long, conflicts_with = "networks")]
    any_ip: bool,
    /// Its expiry, or never
    #[arg(long, value_name = "WHEN|never")]
    expires: Option<OrNone<Expiry>>,
    /// Form of chat completions
    #[arg(long, value_name = "wrapped|bare")]
    chat_format: Option<ChatFormat>,
    /// Requests a minute, or none for no limit
    #[arg(long, value_name = "N|none")]
    rpm: Option<OrNone<NonZeroU32>>,
    /// Tokens of text requests a minute, or none for no limit
    #[arg(long, value_name = "N|none")]
    tpm: Option<OrNone<NonZeroU32>>,
    /// Live tasks and open text requests, or none for no limit
    #[arg(long, value_name = "N|none")]
    concurrency: Option<OrNone<NonZeroU32>>,
    /// Limits of one model, such as ctx-pro=rpm:5,concurrency:none, or ctx-pro=none for no limits of it
    #[arg(long = "model-limit", value_name = "MODEL=LIMITS")]
    model_limits: Vec<ModelLimit>,
    /// Only if the key has this revision, which `key show` prints
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

/// A value, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OrNone<T>(Option<T>);

impl<T: FromStr<Err: std::fmt::Display>> FromStr for OrNone<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" | "never" => Ok(Self(None)),
            text => text.parse().map(|value| Self(Some(value))).map_err(|error| format!("{error}, or none")),
        }
    }
}

/// `MODEL=rpm:5,tpm:1000,concurrency:none`, or `MODEL=none`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelLimit {
    model: String,
    change: Option<LimitsPatch>,
}

impl FromStr for ModelLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "expected MODEL=rpm:N,tpm:N,concurrency:N with one of them or more, or MODEL=none";
        let (model, limits) = text.rsplit_once('=').filter(|(model, _)| !model.is_empty()).ok_or(form)?;
        let model = model.to_owned();
        if limits == "none" {
            return Ok(Self { model, change: None });
        }
        let mut change = LimitsPatch::default();
        for limit in limits.split(',') {
            let (kind, number) = limit.split_once(':').ok_or(form)?;
            let field = match kind {
                "rpm" => &mut change.requests_per_minute,
                "tpm" => &mut change.tokens_per_minute,
                "concurrency" => &mut change.concurrency,
                _ => return Err(form.to_owned()),
            };
            *field =
                Some(number.parse::<OrNone<NonZeroU32>>().map_err(|error| format!("{kind}: {error}"))?.0);
        }
        Ok(Self { model, change: Some(change) })
    }
}

/// The operation that a command means.
pub(in crate::commands) fn operation(command: KeyCommand) -> (Operation, OutputArgs) {
    match command {
        KeyCommand::Create(args) => create(args),
        KeyCommand::List { customer, all, output } => {
            (Operation::KeyList { customer: customer.map(CustomerId), revoked: all }, output)
        }
        KeyCommand::Show { key, output } => (Operation::KeyShow { key: key_id(&key) }, output),
        KeyCommand::Edit(args) => edit(args),
        KeyCommand::Rotate { key, overlap, output } => {
            let overlap_ms = u64::try_from(overlap.as_millis()).unwrap_or(u64::MAX);
            (Operation::KeyRotate { key: key_id(&key), overlap_ms }, output)
        }
        KeyCommand::Revoke { key, output } => (Operation::KeyRevoke { key: key_id(&key) }, output),
    }
}

fn create(args: CreateKeyArgs) -> (Operation, OutputArgs) {
    let limits =
        Limits { requests_per_minute: args.rpm, tokens_per_minute: args.tpm, concurrency: args.concurrency };
    let policy = KeyPolicy {
        name: args.name,
        quota: args.quota,
        models: args.models,
        networks: args.networks,
        expires: args.expires.map(moment),
        chat_format: args.chat_format,
        limits,
        model_limits: BTreeMap::new(),
    };
    let patch = KeyPatch { model_limits: of_models(args.model_limits), ..KeyPatch::default() };
    let new =
        NewKey { force: args.force, ..NewKey::with_policy(CustomerId(args.customer), patch.apply(policy)) };
    (Operation::KeyCreate(new), args.output)
}

fn edit(args: EditKeyArgs) -> (Operation, OutputArgs) {
    let list = |all: bool, empty: bool| all || !empty;
    let limits = LimitsPatch {
        requests_per_minute: args.rpm.map(|limit| limit.0),
        tokens_per_minute: args.tpm.map(|limit| limit.0),
        concurrency: args.concurrency.map(|limit| limit.0),
    };
    let patch = KeyPatch {
        name: args.name,
        quota: args.quota.map(|quota| quota.0),
        models: list(args.all_models, args.models.is_empty()).then_some(Some(args.models)),
        networks: list(args.any_ip, args.networks.is_empty()).then_some(Some(args.networks)),
        expires: args.expires.map(|expires| expires.0.map(moment)),
        chat_format: args.chat_format,
        limits: (limits != LimitsPatch::default()).then_some(Some(limits)),
        model_limits: of_models(args.model_limits),
        force: args.force,
    };
    let (key, revision) = (key_id(&args.key), args.if_revision);
    (Operation::KeyEdit { key, revision, patch: Box::new(patch) }, args.output)
}

fn of_models(limits: Vec<ModelLimit>) -> Option<Option<BTreeMap<String, Option<LimitsPatch>>>> {
    (!limits.is_empty()).then(|| Some(limits.into_iter().map(|limit| (limit.model, limit.change)).collect()))
}

fn moment(expiry: Expiry) -> UnixMs {
    expiry.moment(SystemClock.now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_models_are_parsed() {
        let limit = |number| Some(NonZeroU32::new(number));
        for (text, expected) in [
            ("a=none", Some(("a", None))),
            ("a=rpm:5", Some(("a", Some((limit(5), None))))),
            ("odd:name=1=rpm:5,concurrency:none", Some(("odd:name=1", Some((limit(5), Some(None)))))),
            ("a=rpm:0", None),
            ("a=rpm", None),
            ("a=", None),
            ("=rpm:5", None),
            ("rpm:5", None),
        ] {
            let expected = expected.map(|(model, change)| ModelLimit {
                model: model.to_owned(),
                change: change.map(|(requests_per_minute, concurrency)| LimitsPatch {
                    requests_per_minute,
                    concurrency,
                    ..LimitsPatch::default()
                }),
            });
            assert_eq!(text.parse::<ModelLimit>().ok(), expected, "{text}");
        }
    }

    #[test]
    fn none_takes_a_limit_away() {
        assert_eq!("none".parse(), Ok(OrNone::<Credits>(None)));
        assert_eq!("1.5".parse(), Ok(OrNone(Some(Credits(1_500_000)))));
        assert!("1.5x".parse::<OrNone<Credits>>().unwrap_err().ends_with(", or none"));
    }
}
