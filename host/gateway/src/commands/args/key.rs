//! The commands about API keys: their options, and the requests they mean.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Arg, ArgGroup, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use gatehouse_admin::{ApiRequest, Moment, OperationError, key_limits};
use gatehouse_model::{ChatFormat, Credits};
use http::header::IF_MATCH;
use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::values::{Expiry, OrNone, PeriodArgs, given, key_id, network, quota_patch};
use crate::commands::api::{Api, ExecuteError, Performed};
use crate::commands::print::{details, text_at};

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
    "alert at=quota_alert_percent|none",
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
    },
    /// Show one key's policy and use
    Show {
        /// The ten characters after `sk-`
        key: String,
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
    },
    /// Revoke a key at once
    Revoke {
        /// The ten characters after `sk-`
        key: String,
    },
}

/// A new key.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("spending").required(true).args(["quota", "unlimited"])))]
pub(crate) struct CreateKeyArgs {
    /// A name for people
    name: String,
    /// The customer that pays
    #[arg(long = "account", visible_alias = "customer", value_name = "CUSTOMER")]
    customer: String,
    /// No limit but the customer's balance; this or --quota
    #[arg(long)]
    unlimited: bool,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// Changes of a key's policy.
#[derive(Debug, Args)]
pub(crate) struct EditKeyArgs {
    /// The ten characters after `sk-`
    key: String,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Let it use all models
    #[arg(long, conflicts_with = "models")]
    all_models: bool,
    /// Let it be used from anywhere
    #[arg(long, conflicts_with = "networks")]
    any_ip: bool,
    /// Only if the key has this revision, which `key show` prints
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

/// What a key may do. An edit leaves what is not named.
#[derive(Debug, Args)]
struct PolicyArgs {
    /// Credits it may spend, in all or in each period, or none for no limit; what is used stays used
    #[arg(long, value_name = "CREDITS|none")]
    quota: Option<OrNone<Credits>>,
    /// Tell its customer's webhooks (quota.reached) once so much of its quota is used
    #[arg(long, value_name = "PERCENT|none")]
    quota_alert: Option<OrNone<u8>>,
    #[command(flatten)]
    period: PeriodArgs,
    /// A model it may use, instead of those before; repeat for more [a new key: all]
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Take names of models that are not served now and come later
    #[arg(long)]
    force: bool,
    /// A network it may be used from, such as 10.0.0.0/8 or 2001:db8::1, instead of those before; repeat for more [a new key: all]
    #[arg(long = "ip", value_name = "CIDR", value_parser = network)]
    networks: Vec<IpNet>,
    /// Its expiry: 30d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z, or never [a new key: never]
    #[arg(long, value_name = "WHEN|never")]
    expires: Option<OrNone<Expiry>>,
    /// Form of chat completions: wrapped in {code, data}, or bare as OpenAI clients expect [a new key: wrapped]
    #[arg(long, value_name = "wrapped|bare")]
    chat_format: Option<ChatFormat>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Limits of one model, such as ctx-pro=rpm:5,concurrency:none, or ctx-pro=none for no limits of it; repeat for more models
    #[arg(long = "model-limit", value_name = "MODEL=LIMITS")]
    model_limits: Vec<ModelLimit>,
}

/// The limits that the API knows: an option of each, its name there, and what it means. Words are told by their first letters:
/// `requests_per_minute` is `--rpm`.
static LIMITS: LazyLock<Vec<(String, String, String)>> = LazyLock::new(|| {
    let option = |name: &str| match name.contains('_') {
        true => name.split('_').filter_map(|word| word.chars().next()).collect(),
        false => name.to_owned(),
    };
    let meaning = |text: &str| format!("{}, or none for no limit", text.trim_end_matches('.'));
    key_limits().into_iter().map(|(name, text)| (option(&name), name, meaning(&text))).collect()
});

/// An option for each limit.
#[derive(Debug)]
struct LimitArgs(Map<String, Value>);

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        LIMITS.iter().fold(command, |command, (option, name, meaning)| {
            let limit = Arg::new(name.as_str()).long(option.as_str()).value_name("N|none");
            command.arg(limit.help(meaning.as_str()).value_parser(value_parser!(OrNone<NonZeroU32>)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |(_, name, _): &(String, String, String)| {
            let limit = matches.get_one::<OrNone<NonZeroU32>>(name)?;
            Some((name.clone(), json!(limit.0)))
        };
        Ok(Self(LIMITS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
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
        let form = || {
            let limits: Vec<String> = LIMITS.iter().map(|(option, ..)| format!("{option}:N")).collect();
            format!("expected MODEL={} with one of them or more, or MODEL=none", limits.join(","))
        };
        let (model, limits) =
            text.rsplit_once('=').filter(|(model, _)| !model.is_empty()).ok_or_else(form)?;
        let model = model.to_owned();
        if limits == "none" {
            return Ok(Self { model, change: None });
        }
        let mut change = Map::new();
        for limit in limits.split(',') {
            let (kind, number) = limit.split_once(':').ok_or_else(form)?;
            let (_, name, _) = LIMITS.iter().find(|(option, ..)| option == kind).ok_or_else(form)?;
            let number = number.parse::<OrNone<NonZeroU32>>().map_err(|error| format!("{kind}: {error}"))?.0;
            change.insert(name.clone(), json!(number));
        }
        Ok(Self { model, change: Some(change) })
    }
}

/// Does what a command means.
pub(in crate::commands) async fn run(command: KeyCommand, api: &Api<'_>) -> Performed {
    match command {
        KeyCommand::Create(args) => {
            let CreateKeyArgs { name, customer, unlimited: _, policy } = args;
            let force = policy.force;
            let mut new = policy.patch();
            new.extend([("name".to_owned(), name.into()), ("customer".to_owned(), customer.into())]);
            api.told(ApiRequest::post(&["keys"]).flag("force", force).json(&new), with_secret).await
        }
        KeyCommand::List { customer, all } => {
            let mut list = ApiRequest::get(&["keys"]).query_if("customer", customer);
            if !all {
                list = list.query("state", "active").query("state", "expired");
            }
            api.rows(list, usize::MAX, COLUMNS).await
        }
        KeyCommand::Show { key } => api.details(ApiRequest::get(&["keys", &key_id(&key).0]), FIELDS).await,
        KeyCommand::Edit(args) => edit(args, api).await,
        KeyCommand::Rotate { key, overlap } => {
            let overlap_ms = u64::try_from(overlap.as_millis()).unwrap_or(u64::MAX);
            let rotate = ApiRequest::post(&["keys", &key_id(&key).0, "rotate"]);
            api.told(rotate.json(&json!({"overlap_ms": overlap_ms})), with_secret).await
        }
        KeyCommand::Revoke { key } => {
            api.details(ApiRequest::post(&["keys", &key_id(&key).0, "revoke"]), FIELDS).await
        }
    }
}

/// A new key with its secret.
fn with_secret(made: &Value) -> String {
    let (fields, secret) = (details(&made["key"], FIELDS), text_at(made, "secret"));
    format!("{fields}\n{secret}\n\nThis is the key; it is not shown again.\n")
}

/// What is not named stays. An edit without a revision is sent again where another one came between.
async fn edit(args: EditKeyArgs, api: &Api<'_>) -> Performed {
    let EditKeyArgs { key, name, policy, all_models, any_ip, if_revision: revision } = args;
    let (key, force) = (key_id(&key), policy.force);
    let mut patch = policy.patch();
    patch.extend(name.map(|name| ("name".to_owned(), name.into())));
    for (field, is_emptied) in [("models", all_models), ("networks", any_ip)] {
        patch.extend(is_emptied.then(|| (field.to_owned(), json!([]))));
    }
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
        match api.details(request.clone(), FIELDS).await {
            Err(ExecuteError::Refused(stale))
                if stale.status == 412 && revision.is_none() && edits < MAX_EDITS => {}
            done => return done,
        }
    }
}

impl PolicyArgs {
    /// What they say of a policy.
    fn patch(self) -> Map<String, Value> {
        let [quota_micro, quota_period] = quota_patch(self.quota, &self.period);
        let expires = self.expires.map(|expires| json!(expires.0.map(|Expiry(moment)| Moment(moment))));
        let limits = self.limits.0;
        given([
            ("quota_micro", quota_micro),
            ("quota_period", quota_period),
            ("quota_alert_percent", self.quota_alert.map(|percent| json!(percent.0))),
            ("models", (!self.models.is_empty()).then(|| json!(self.models))),
            ("networks", (!self.networks.is_empty()).then(|| json!(self.networks))),
            ("expires", expires),
            ("chat_format", self.chat_format.map(|format| format.as_str().into())),
            ("limits", (!limits.is_empty()).then_some(Value::Object(limits))),
            ("model_limits", (!self.model_limits.is_empty()).then(|| of_models(self.model_limits))),
        ])
    }
}

fn of_models(limits: Vec<ModelLimit>) -> Value {
    limits.into_iter().map(|limit| (limit.model, json!(limit.change))).collect::<Map<_, _>>().into()
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
            let parsed = text.parse::<ModelLimit>().ok().map(|limit| of_models(vec![limit]));
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
