//! The form of a key's policy: from a policy to its fields, and back. Used for a new key and for an edit.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_admin::PluginState;
use gatehouse_model::{ChatFormat, Credits, KeyPolicy, Limits, QuotaPeriod, UnixMs};
use ipnet::IpNet;
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::format::{credits_text, seconds};
use crate::parts::fields::{Field, Problems, lines, select};
use crate::request::PageRequest;

/// Fields that the service's refusals name.
pub(super) const FIELDS: &[&str] = &[
    "name",
    "customer",
    "quota",
    "quota_period",
    "models",
    "networks",
    "expires",
    "limits",
    "model_limits",
    "chat_format",
];
const HOUR: u64 = 3600;

/// How long a key works, by the field's value.
const SPANS: &[(&str, &str, Option<u64>)] = &[
    ("never", "never", None),
    ("24h", "in 24 hours", Some(24 * HOUR)),
    ("7d", "in 7 days", Some(7 * 24 * HOUR)),
    ("30d", "in 30 days", Some(30 * 24 * HOUR)),
    ("365d", "in a year", Some(365 * 24 * HOUR)),
];

/// What stays as it is.
const KEEP: &str = "keep";

/// The values of the fields as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values(BTreeMap<&'static str, String>);

const NAMES: [&str; 10] = [
    "name",
    "quota",
    "quota_period",
    "models",
    "networks",
    "expires",
    "chat_format",
    "requests_per_minute",
    "tokens_per_minute",
    "concurrency",
];

impl Values {
    /// What was typed.
    pub(super) fn typed(form: &Form) -> Self {
        let mut values: BTreeMap<_, _> = NAMES.map(|name| (name, form.text(name).to_owned())).into();
        values.insert("model_limits", form.text("model_limits").to_owned());
        Self(values)
    }

    /// What a key has.
    pub(super) fn of(policy: &KeyPolicy) -> Self {
        let number = |limit: Option<NonZeroU32>| limit.map_or_else(String::new, |limit| limit.to_string());
        let Limits { requests_per_minute, tokens_per_minute, concurrency } = policy.limits;
        let networks: Vec<String> = policy.networks.iter().map(ToString::to_string).collect();
        let rows: Vec<String> =
            policy.model_limits.iter().map(|(model, limits)| row_of(model, *limits)).collect();
        Self(BTreeMap::from([
            ("name", policy.name.clone()),
            ("quota", policy.quota.map_or_else(String::new, |quota| quota.to_string())),
            ("quota_period", policy.quota_period.map_or_else(String::new, |period| period.to_string())),
            ("models", policy.models.join("\n")),
            ("networks", networks.join("\n")),
            ("expires", if policy.expires.is_some() { KEEP } else { "never" }.to_owned()),
            ("chat_format", policy.chat_format.as_str().to_owned()),
            ("requests_per_minute", number(requests_per_minute)),
            ("tokens_per_minute", number(tokens_per_minute)),
            ("concurrency", number(concurrency)),
            ("model_limits", rows.join("\n")),
        ]))
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Every field, hidden.
    pub(super) fn hidden(&self) -> Markup {
        html! { @for (name, value) in &self.0 { input type="hidden" name=(name) value=(value); } }
    }
}

/// `ctx-pro requests=5 tokens=1000 concurrency=2`.
fn row_of(model: &str, limits: Limits) -> String {
    let parts = [
        ("requests", limits.requests_per_minute),
        ("tokens", limits.tokens_per_minute),
        ("concurrency", limits.concurrency),
    ];
    let parts = parts.into_iter().filter_map(|(name, limit)| Some(format!(" {name}={}", limit?)));
    model.to_owned() + &parts.collect::<String>()
}

/// The policy that the fields mean; what is wrong goes to `problems`. `expires` is when the key ends today.
pub(super) fn read(form: &Form, expires: Option<UnixMs>, now: UnixMs, problems: &mut Problems) -> KeyPolicy {
    let quota = match form.text("quota") {
        "" => None,
        text => text.parse::<Credits>().map_err(|error| problems.add("quota", error.to_string())).ok(),
    };
    let quota_period = match form.text("quota_period") {
        "" => None,
        text => text.parse::<QuotaPeriod>().map_err(|error| problems.add("quota_period", error)).ok(),
    };
    let mut networks = Vec::new();
    for word in form.words("networks") {
        match network(&word) {
            Some(network) => networks.push(network),
            None => problems
                .add("networks", format!("expected an address or a range such as 10.0.0.0/8, got {word:?}")),
        }
    }
    let mut limit = |name: &str| match form.text(name) {
        "" => None,
        text => {
            let limit = text.parse::<NonZeroU32>().ok();
            if limit.is_none() {
                problems.add(name, format!("expected a whole number above zero, or nothing, got {text:?}"));
            }
            limit
        }
    };
    let limits = Limits {
        requests_per_minute: limit("requests_per_minute"),
        tokens_per_minute: limit("tokens_per_minute"),
        concurrency: limit("concurrency"),
    };
    let expires = expiry(form.text("expires"), expires, now).unwrap_or_else(|problem| {
        problems.add("expires", problem);
        None
    });
    let chat_format = match form.text("chat_format") {
        "" => ChatFormat::Wrapped,
        text => text.parse().unwrap_or_else(|_| {
            problems.add("chat_format", format!("expected wrapped or bare, got {text:?}"));
            ChatFormat::Wrapped
        }),
    };
    if form.text("name").is_empty() {
        problems.add("name", "is missing");
    }
    KeyPolicy {
        name: form.text("name").to_owned(),
        quota,
        quota_period,
        models: form.words("models"),
        networks,
        expires,
        chat_format,
        limits,
        model_limits: model_limits(form.text("model_limits"), problems),
    }
}

/// When a key ends by the value of the field: one of the spans, as it is today (`present`), or nothing for never.
fn expiry(chosen: &str, present: Option<UnixMs>, now: UnixMs) -> Result<Option<UnixMs>, String> {
    if chosen == KEEP {
        return Ok(present);
    }
    if chosen.is_empty() {
        return Ok(None);
    }
    match SPANS.iter().find(|(value, ..)| *value == chosen) {
        Some((.., span)) => Ok(span.map(|span| now.plus(Duration::from_secs(span)))),
        None => {
            let values: Vec<&str> = SPANS.iter().map(|(value, ..)| *value).collect();
            Err(format!("expected one of {}, got {chosen:?}", values.join(", ")))
        }
    }
}

/// Whether models that are not served now may be named.
pub(super) fn is_forced(form: &Form) -> bool {
    form.text("force") == "1"
}

/// One model a line.
fn model_limits(text: &str, problems: &mut Problems) -> BTreeMap<String, Limits> {
    let mut found = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match row(line) {
            Some((model, limits)) => drop(found.insert(model, limits)),
            None => problems.add(
                "model_limits",
                format!("expected such as ctx-pro requests=5 concurrency=2, got {line:?}"),
            ),
        }
    }
    found
}

fn row(line: &str) -> Option<(String, Limits)> {
    let mut words = line.split_whitespace();
    let (model, mut limits) = (words.next()?.to_owned(), Limits::default());
    for word in words {
        let (name, limit) = word.split_once('=')?;
        let limit = Some(limit.parse::<NonZeroU32>().ok()?);
        match name {
            "requests" => limits.requests_per_minute = limit,
            "tokens" => limits.tokens_per_minute = limit,
            "concurrency" => limits.concurrency = limit,
            _ => return None,
        }
    }
    (limits != Limits::default()).then_some((model, limits))
}

/// A range, or one address as a range.
fn network(word: &str) -> Option<IpNet> {
    word.parse().ok().or_else(|| word.parse::<std::net::IpAddr>().ok().map(IpNet::from))
}

/// Models that are served now.
pub(super) async fn models(pages: &PageContext) -> Result<BTreeSet<String>, PageError> {
    let plugins = pages.service.plugins().await?;
    let active = plugins.into_iter().filter(|plugin| matches!(plugin.state, PluginState::Active { .. }));
    Ok(active.flat_map(|plugin| plugin.models).collect())
}

/// The fields of a form.
pub(super) fn fields(
    request: &PageRequest,
    values: &Values,
    expires: Option<UnixMs>,
    models: &BTreeSet<String>,
    problems: &Problems,
) -> Markup {
    let kept = expires.map(|at| format!("as it is, {} UTC", seconds(at)));
    let mut spans: Vec<(&str, &str)> = kept.iter().map(|text| (KEEP, text.as_str())).collect();
    spans.extend(SPANS.iter().map(|(value, text, _)| (*value, *text)));
    let known: Vec<&str> = models.iter().map(String::as_str).collect();
    let models_help = match known.as_slice() {
        [] => "Ids or aliases, one a line. Empty: all models.".to_owned(),
        known => format!("Ids or aliases, one a line. Empty: all models. Served now: {}.", known.join(", ")),
    };
    let networks_help = format!(
        "Addresses or ranges, one a line. Empty: from everywhere. You come from {}.",
        request.address
    );
    let text = |name, label, help, decimal| {
        let required = name == "name";
        Field { name, label, help, value: values.text(name), required, decimal }.show(problems)
    };
    html! {
        (text("quota", "Quota, credits", "What it may spend in all, or in each period. Empty: unlimited, up to the customer's balance.", true))
        (text("quota_period", "Quota resets every", "day, week or month, at midnight UTC, or of an offset: month+02:00. Empty: never. Another period begins with nothing used.", false))
        (lines("models", "Models", &models_help, values.text("models"), problems))
        label.check { input type="checkbox" name="force" value="1"; " Names of models that come later are taken, too" }
        (lines("networks", "Networks", &networks_help, values.text("networks"), problems))
        (select("expires", "Expires", &spans, values.text("expires")))
        (text("requests_per_minute", "Requests per minute", "Empty: no limit.", true))
        (text("tokens_per_minute", "Tokens per minute", "Of text requests, read and written. Empty: no limit.", true))
        (text("concurrency", "Requests at once", "Live tasks and open text requests. Empty: no limit.", true))
        (lines("model_limits", "Limits of single models", "One model a line, such as: ctx-pro requests=5 tokens=1000 concurrency=2", values.text("model_limits"), problems))
        (select("chat_format", "Chat completions", &[
            ("wrapped", "wrapped in {code, data}"),
            ("bare", "bare, as OpenAI's SDKs expect"),
        ], values.text("chat_format")))
    }
}

/// The limits of a key in words; nothing where it has none.
pub(super) fn limits_in_words(
    limits: &Limits,
    models: &BTreeMap<String, Limits>,
) -> Vec<(&'static str, String)> {
    let Limits { requests_per_minute, tokens_per_minute, concurrency } = limits;
    let own = [
        ("Requests per minute", requests_per_minute),
        ("Tokens per minute", tokens_per_minute),
        ("Requests at once", concurrency),
    ];
    let own = own.into_iter().filter_map(|(name, limit)| Some((name, limit.as_ref()?.to_string())));
    own.chain(models.iter().map(|(model, limits)| ("Limits of one model", row_of(model, *limits)))).collect()
}

/// A policy in words, field by field, for people who compare two.
pub(super) fn words(policy: &KeyPolicy) -> Vec<(&'static str, String)> {
    let values = Values::of(policy);
    let or = |name: &str, empty: &str| match values.text(name) {
        "" => empty.to_owned(),
        text => text.replace('\n', ", "),
    };
    vec![
        ("Name", policy.name.clone()),
        ("Quota, credits", policy.quota.map_or_else(|| "unlimited".to_owned(), credits_text)),
        ("Quota resets", or("quota_period", "never")),
        ("Models", or("models", "all")),
        ("Networks", or("networks", "from everywhere")),
        ("Expires", policy.expires.map_or_else(|| "never".to_owned(), seconds)),
        ("Requests per minute", or("requests_per_minute", "no limit")),
        ("Tokens per minute", or("tokens_per_minute", "no limit")),
        ("Requests at once", or("concurrency", "no limit")),
        ("Limits of single models", or("model_limits", "none")),
        ("Chat completions", policy.chat_format.as_str().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_its_form() {
        let limits =
            |requests| Limits { requests_per_minute: NonZeroU32::new(requests), ..Limits::default() };
        for policy in [
            KeyPolicy { name: "a".to_owned(), ..KeyPolicy::default() },
            KeyPolicy {
                name: "ci".to_owned(),
                quota: Some(Credits(2_500_000)),
                quota_period: Some("week-05:30".parse().unwrap()),
                models: vec!["x".to_owned(), "y".to_owned()],
                networks: vec!["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()],
                expires: Some(UnixMs(86_401_000)),
                chat_format: ChatFormat::Bare,
                limits: Limits { concurrency: NonZeroU32::new(3), ..limits(5) },
                model_limits: [("x".to_owned(), limits(1))].into(),
            },
        ] {
            let mut fields = url::form_urlencoded::Serializer::new(String::new());
            for (name, value) in &Values::of(&policy).0 {
                fields.append_pair(name, value);
            }
            let (form, mut problems) = (Form::parse(fields.finish().as_bytes()), Problems::default());
            assert_eq!(read(&form, policy.expires, UnixMs(1000), &mut problems), policy);
            assert!(problems.is_empty());
        }
    }

    #[test]
    fn every_wrong_field_is_named() {
        let mut problems = Problems::default();
        let body = b"quota=1e3&quota_period=year&networks=nowhere&concurrency=0&model_limits=x%20requests&expires=2020-01-01&chat_format=json";
        read(&Form::parse(body), None, UnixMs(0), &mut problems);
        let text = problems.summary().into_string();
        for field in [
            "name",
            "quota",
            "quota_period",
            "networks",
            "concurrency",
            "model_limits",
            "expires",
            "chat_format",
        ] {
            assert!(text.contains(&format!("href=\"#f-{field}\"")), "{field}: {text}");
        }
    }

    /// Without it a date, or a word that the form does not have, makes a key that never expires.
    #[test]
    fn an_unknown_expiry_is_refused() {
        let at = UnixMs(1000);
        for (chosen, expected) in [
            ("", Ok(None)),
            ("never", Ok(None)),
            ("keep", Ok(Some(UnixMs(7)))),
            ("24h", Ok(Some(UnixMs(86_401_000)))),
            ("2020-01-01", Err(())),
            ("2099-01-01", Err(())),
            ("Never", Err(())),
            ("1h", Err(())),
        ] {
            assert_eq!(expiry(chosen, Some(UnixMs(7)), at).map_err(|_| ()), expected, "{chosen}");
        }
    }
}
