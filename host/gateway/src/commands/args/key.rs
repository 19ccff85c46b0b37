//! The commands about API keys: their options, and the requests they mean.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use gatehouse_admin::{ApiRequest, Moment, OperationError};
use gatehouse_model::{ChatFormat, Clock as _, Credits};
use http::header::IF_MATCH;
use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::values::{Expiry, OrNone, OutputArgs, Performed, PeriodArgs, key_id, network, quota_patch};
use crate::commands::api::{Api, ExecuteError};
use crate::commands::print::{Shown, details, text_at};
use crate::system::SystemClock;

/// How often an edit without a revision is sent while others change the key.
const MAX_EDITS: u32 = 16;
const COLUMNS: &[&str] = &[
    "key=id",
    "account=customer",
    "quota_micro|unlimited",
    "per=quota_period|never",
    "used_micro",
    "state",
    "expires|never",
    "revoked|no",
    "name",
];
const FIELDS: &[&str] = &[
    "key=id",
    "name",
    "account=customer",
    "state",
    "quota_micro|unlimited",
    "quota period=quota_period|never",
    "quota_used_micro|none",
    "quota resets=quota_resets|never",
    "used_micro",
    "models|all",
    "networks|all",
    "created",
    "expires|never",
    "revoked|no",
    "chat=chat_format",
    "limits|none",
    "of models=model_limits|none",
    "open|none",
    "revision",
    "replaces=rotated_from",
    "replaced by=rotated_to",
];

/// Commands about keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key; it is shown once
    #[command(after_help = "Examples:
  gatehouse key create laptop --account alice --unlimited
  gatehouse key create app --account alice --quota 20 --per month --offset +02:00
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
    /// Credits it may spend, in all or in each period; this or --unlimited
    #[arg(long, value_name = "CREDITS")]
    quota: Option<Credits>,
    #[command(flatten)]
    period: PeriodArgs,
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
    /// Credits it may spend, in all or in each period, or none for no limit; what is used stays used
    #[arg(long, value_name = "CREDITS|none")]
    quota: Option<OrNone<Credits>>,
    #[command(flatten)]
    period: PeriodArgs,
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

/// `MODEL=rpm:5,tpm:1000,concurrency:none`, or `MODEL=none`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelLimit {
    model: String,
    /// `null` for no limits of it.
    change: Option<Map<String, Value>>,
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
        let mut change = Map::new();
        for limit in limits.split(',') {
            let (kind, number) = limit.split_once(':').ok_or(form)?;
            let field = match kind {
                "rpm" => "requests_per_minute",
                "tpm" => "tokens_per_minute",
                "concurrency" => "concurrency",
                _ => return Err(form.to_owned()),
            };
            let number = number.parse::<OrNone<NonZeroU32>>().map_err(|error| format!("{kind}: {error}"))?.0;
            change.insert(field.to_owned(), json!(number));
        }
        Ok(Self { model, change: Some(change) })
    }
}

/// Does what a command means.
pub(in crate::commands) async fn run(command: KeyCommand, api: &Api<'_>) -> Performed {
    match command {
        KeyCommand::Create(args) => create(args, api).await,
        KeyCommand::List { customer, all, output } => {
            let mut list = ApiRequest::get(&["keys"]).query_if("customer", customer);
            if !all {
                list = list.query("state", "active").query("state", "expired");
            }
            Ok((Shown::list(api.list(list, usize::MAX, None).await?, COLUMNS), output))
        }
        KeyCommand::Show { key, output } => {
            let found = api.send(ApiRequest::get(&["keys", &key_id(&key).0])).await?.body;
            Ok((Shown::details(found, FIELDS), output))
        }
        KeyCommand::Edit(args) => edit(args, api).await,
        KeyCommand::Rotate { key, overlap, output } => {
            let overlap_ms = u64::try_from(overlap.as_millis()).unwrap_or(u64::MAX);
            let rotate = ApiRequest::post(&["keys", &key_id(&key).0, "rotate"]);
            let made = api.send(rotate.json(&json!({"overlap_ms": overlap_ms}))).await?.body;
            Ok((with_secret(made, "key"), output))
        }
        KeyCommand::Revoke { key, output } => {
            let revoked = api.send(ApiRequest::post(&["keys", &key_id(&key).0, "revoke"])).await?.body;
            Ok((Shown::details(revoked, FIELDS), output))
        }
    }
}

/// A new key with its secret.
fn with_secret(made: Value, what: &str) -> Shown {
    let (fields, secret) = (details(&made[what], FIELDS), text_at(&made, "secret"));
    let text = format!("{fields}\n{secret}\n\nThis is the {what}; it is not shown again.\n");
    Shown::told(made, text)
}

async fn create(args: CreateKeyArgs, api: &Api<'_>) -> Performed {
    let body = json!({
        "customer": args.customer,
        "name": args.name,
        "quota_micro": args.quota.map(|quota| quota.0),
        "quota_period": args.period.period().flatten(),
        "models": args.models,
        "networks": args.networks,
        "expires": args.expires.map(moment),
        "chat_format": args.chat_format.as_str(),
        "limits": {
            "requests_per_minute": args.rpm,
            "tokens_per_minute": args.tpm,
            "concurrency": args.concurrency,
        },
        "model_limits": of_models(args.model_limits),
    });
    let create = ApiRequest::post(&["keys"]).flag("force", args.force).json(&body);
    Ok((with_secret(api.send(create).await?.body, "key"), args.output))
}

/// What is not named stays. An edit without a revision is sent again where another one came between.
async fn edit(args: EditKeyArgs, api: &Api<'_>) -> Performed {
    let (key, revision, force, output) = (key_id(&args.key), args.if_revision, args.force, args.output);
    let patch = patch(args);
    let path = ["keys", key.0.as_str()];
    let tag = match revision {
        Some(revision) => {
            let found = api.send(ApiRequest::get(&path)).await?;
            if found.body["revision"] != revision {
                let present = &found.body["revision"];
                let text =
                    format!("key {key} has changed since: it is at revision {present}, not {revision}");
                return Err(OperationError::Stale(text).into());
            }
            found.etag
        }
        None => None,
    };
    let request = ApiRequest::patch(&path).flag("force", force).json(&patch);
    let request = request.header(IF_MATCH, tag.as_deref().unwrap_or("*"));
    let mut edits = 0;
    loop {
        edits += 1;
        match api.send(request.clone()).await {
            Ok(edited) => return Ok((Shown::details(edited.body, FIELDS), output)),
            Err(ExecuteError::Refused(stale))
                if stale.status == 412 && revision.is_none() && edits < MAX_EDITS => {}
            Err(error) => return Err(error),
        }
    }
}

/// What changes.
fn patch(args: EditKeyArgs) -> Map<String, Value> {
    let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
    let limits = [
        ("requests_per_minute", args.rpm),
        ("tokens_per_minute", args.tpm),
        ("concurrency", args.concurrency),
    ];
    let limits: Map<String, Value> =
        limits.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), json!(limit?.0)))).collect();
    let [quota_micro, quota_period] = quota_patch(args.quota, &args.period);
    let models = (args.all_models || !args.models.is_empty()).then(|| json!(args.models));
    let networks = (args.any_ip || !args.networks.is_empty()).then(|| json!(args.networks));
    let model_limits = (!args.model_limits.is_empty()).then(|| Value::Object(of_models(args.model_limits)));
    [
        ("name", args.name.map(Value::from)),
        ("quota_micro", quota_micro),
        ("quota_period", quota_period),
        ("models", models),
        ("networks", networks),
        ("expires", args.expires.map(|expires| or_null(expires.0.map(|at| json!(moment(at)))))),
        ("chat_format", args.chat_format.map(|format| format.as_str().into())),
        ("limits", (!limits.is_empty()).then_some(Value::Object(limits))),
        ("model_limits", model_limits),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

fn of_models(limits: Vec<ModelLimit>) -> Map<String, Value> {
    limits.into_iter().map(|limit| (limit.model, json!(limit.change))).collect()
}

fn moment(expiry: Expiry) -> Moment {
    Moment(expiry.moment(SystemClock.now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_models_are_parsed() {
        for (text, expected) in [
            ("a=none", Some(json!({"a": null}))),
            ("a=rpm:5", Some(json!({"a": {"requests_per_minute": 5}}))),
            (
                "odd:name=1=rpm:5,concurrency:none",
                Some(json!({"odd:name=1": {"requests_per_minute": 5, "concurrency": null}})),
            ),
            ("a=rpm:0", None),
            ("a=rpm", None),
            ("a=", None),
            ("=rpm:5", None),
            ("rpm:5", None),
        ] {
            let parsed = text.parse::<ModelLimit>().ok().map(|limit| Value::Object(of_models(vec![limit])));
            assert_eq!(parsed, expected, "{text}");
        }
    }

    #[test]
    fn none_takes_a_limit_away() {
        assert_eq!("none".parse(), Ok(OrNone::<Credits>(None)));
        assert_eq!("1.5".parse(), Ok(OrNone(Some(Credits(1_500_000)))));
        assert!("1.5x".parse::<OrNone<Credits>>().unwrap_err().ends_with(", or none"));
    }
}
