//! The operator's table of models that are answered while their client waits: each model's kind, provider, protocol and
//! price.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

use gatehouse_model::{Credits, Prepared, Protocol, TextRoute};
use serde::Deserialize;

use crate::api::{ListedPrice, Modality, ModelFacts};
use crate::text::bill::{Bill, TokenPrices};
use crate::text::counters;
use crate::text::passed::{self, PassPrice, PassPrices};

/// The surface of models of kind [`ModelKind::Embedding`].
const EMBEDDINGS: &str = "embeddings.create";

/// What a model of the table makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Text, on every surface of text.
    #[default]
    Text,
    /// Vectors of texts.
    Embedding,
}

impl ModelKind {
    /// The kind of model that a surface is for.
    pub(crate) fn of_surface(surface: &str) -> Self {
        if surface == EMBEDDINGS { Self::Embedding } else { Self::Text }
    }

    /// Its name in the configuration and for clients.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Embedding => "embedding",
        }
    }
}

/// One `[models.<id>]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// What it makes: `text` (the default) or `embedding`.
    #[serde(default)]
    pub kind: ModelKind,
    /// Which of `[providers]` serves it.
    pub provider: String,
    /// What that provider speaks: `messages`, `chat`, or the dialect of a family. Embeddings come from `chat` alone.
    pub protocol: Protocol,
    /// What that provider calls it; absent: its own id.
    pub upstream: Option<String>,
    /// Other names for it. A name that ends in `-thinking` switches thinking on.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Credits for a million tokens.
    pub prices: TokenPrices,
    /// What fields cost that `rules.pass` names, by `field` or `field=value`.
    #[serde(default)]
    pub pass_prices: BTreeMap<String, PassPrice>,
    /// Tokens that a request and its answer may have together. Clients read it; the provider sees to it.
    pub context_tokens: Option<NonZeroU32>,
    /// What it reads. Clients read it; absent: nobody says so.
    #[serde(default)]
    pub inputs: Vec<Modality>,
    /// What the plugins must know of the model; see `plugins/text-protocols/src/rules.rs`.
    #[serde(default)]
    pub rules: serde_json::Map<String, serde_json::Value>,
}

/// Whether every entry of the table can be used.
///
/// # Errors
/// The first that cannot, as the path below `models` and what was expected.
pub fn check_models(table: &BTreeMap<String, ModelConfig>) -> Result<(), (String, String)> {
    TextModels::new(table).map(drop)
}

/// A text model of the table.
#[derive(Debug)]
pub(crate) struct TextModel {
    pub(crate) route: TextRoute,
    pub(crate) prices: TokenPrices,
    pub(crate) pass_prices: PassPrices,
    pub(crate) kind: ModelKind,
    pub(crate) facts: ModelFacts,
}

impl TextModel {
    /// The price of a request. `None` when it is more than can be counted.
    pub(crate) fn bill(&self, prepared: &Prepared) -> Option<Bill> {
        let (prices, request) = passed::priced(&self.pass_prices, self.prices.clone(), &prepared.call.body)?;
        Some(Bill::new(prices, request, prepared))
    }
}

/// The prices of a model as clients read them.
fn listed_prices(id: &str, prices: &TokenPrices) -> Vec<ListedPrice> {
    let all = [
        ("million input tokens", Some(prices.input)),
        ("million cached input tokens", prices.cached),
        ("million output tokens", prices.output),
    ];
    let listed = |(unit, price): (&'static str, Option<Credits>)| {
        Some(ListedPrice { key: id.to_owned(), unit, price: price? })
    };
    all.into_iter().filter_map(listed).collect()
}

/// All of them, by every name.
#[derive(Debug, Default)]
pub(crate) struct TextModels(HashMap<String, Arc<TextModel>>);

impl TextModels {
    /// # Errors
    /// The first entry that cannot be used, as the path below `models` and what is wrong.
    pub(crate) fn new(table: &BTreeMap<String, ModelConfig>) -> Result<Self, (String, String)> {
        let mut models = HashMap::new();
        for (id, config) in table {
            let wrong = |field: &str, why: String| Err((format!("{id}.{field}"), why));
            let prices = &config.prices;
            let all = [
                ("input", Some(prices.input)),
                ("output", prices.output),
                ("cached", prices.cached),
                ("cache_write", prices.cache_write),
                ("cache_write_1h", prices.cache_write_1h),
            ];
            for (name, price) in all {
                if price.is_some_and(|price| price < Credits::ZERO) {
                    return wrong(&format!("prices.{name}"), "expected zero or more credits".to_owned());
                }
            }
            if let Err((field, why)) = counters::check(&prices.counters) {
                return wrong(&field, why);
            }
            match config.kind {
                ModelKind::Text if prices.output.is_none() => {
                    let why =
                        "expected credits for a million tokens; only a model of kind \"embedding\" has none";
                    return wrong("prices.output", why.to_owned());
                }
                ModelKind::Embedding if config.protocol != Protocol::Chat => {
                    let why = "expected \"chat\": embeddings come from providers of that protocol";
                    return wrong("protocol", why.to_owned());
                }
                _ => {}
            }
            if let Err((name, why)) = passed::check(&config.pass_prices, config.rules.get("pass")) {
                return wrong(&format!("pass_prices.{name:?}"), why);
            }
            let rules = serde_json::Value::Object(config.rules.clone()).to_string();
            let model = Arc::new(TextModel {
                route: TextRoute {
                    model: id.clone(),
                    upstream: config.upstream.clone().unwrap_or_else(|| id.clone()),
                    provider: config.provider.clone(),
                    protocol: config.protocol.clone(),
                    rules: rules.into(),
                },
                prices: config.prices.clone(),
                pass_prices: config.pass_prices.clone(),
                kind: config.kind,
                facts: ModelFacts {
                    context_tokens: config.context_tokens.map(NonZeroU32::get),
                    max_output_tokens: config.rules.get("max_output").and_then(serde_json::Value::as_u64),
                    inputs: config.inputs.clone(),
                    prices: listed_prices(id, &config.prices),
                },
            });
            for name in std::iter::once(id).chain(&config.aliases) {
                if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
                    let why = format!("expected a name without white space, got {name:?}");
                    return wrong("aliases", why);
                }
                if models.insert(name.clone(), Arc::clone(&model)).is_some() {
                    return wrong("aliases", format!("{name:?} already names a model"));
                }
            }
        }
        Ok(Self(models))
    }

    /// The model of that id or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<TextModel>> {
        self.0.get(name)
    }

    /// The provider of the model of that id.
    pub(crate) fn provider(&self, id: &str) -> String {
        self.find(id).map_or_else(String::new, |model| model.route.provider.clone())
    }

    /// The dialect of the model of that id, if its provider speaks one.
    pub(crate) fn dialect(&self, id: &str) -> Option<&str> {
        self.find(id)?.route.protocol.dialect()
    }

    /// What the model of that id makes.
    pub(crate) fn kind(&self, id: &str) -> ModelKind {
        self.find(id).map_or_else(ModelKind::default, |model| model.kind)
    }

    /// Every name with the id of its model, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut names: Vec<_> =
            self.0.iter().map(|(name, model)| (name.as_str(), model.route.model.as_str())).collect();
        names.sort_unstable();
        names.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<TextModels, (String, String)> {
        TextModels::new(&serde_json::from_str(text).unwrap())
    }

    const PLAIN: &str = r#""provider": "p", "protocol": "chat", "prices": {"input": "1", "output": "2"}"#;

    #[test]
    fn models_are_found_by_id_and_alias() {
        let json = format!(
            r#"{{"m": {{{PLAIN}, "aliases": ["m-thinking"], "rules": {{"a": 1}}}}, "n": {{{PLAIN}, "upstream": "x"}}}}"#
        );
        let models = table(&json).unwrap();
        let route = &models.find("m-thinking").unwrap().route;
        assert_eq!((route.model.as_str(), route.upstream.as_str()), ("m", "m"));
        assert_eq!(&*route.rules, r#"{"a":1}"#);
        assert_eq!(models.find("n").unwrap().route.upstream, "x");
        assert!(models.find("o").is_none());
        assert_eq!(models.names().collect::<Vec<_>>(), [("m", "m"), ("m-thinking", "m"), ("n", "n")]);
    }

    #[test]
    fn an_unusable_entry_is_named() {
        let check = |json: &str, path: &str, why: &str| {
            let (found, text) = table(json).unwrap_err();
            assert_eq!(found, path);
            assert!(text.contains(why), "{text}");
        };
        check(
            &format!(r#"{{"m": {{{PLAIN}}}, "n": {{{PLAIN}, "aliases": ["m"]}}}}"#),
            "n.aliases",
            "already",
        );
        check(&format!(r#"{{"m": {{{PLAIN}, "aliases": ["a b"]}}}}"#), "m.aliases", "white space");
        let gift =
            r#"{"m": {"provider": "p", "protocol": "chat", "prices": {"input": "1", "output": "-2"}}}"#;
        check(gift, "m.prices.output", "zero or more");
        let kind = |kind: &str, protocol: &str| {
            format!(
                r#"{{"m": {{"kind": "{kind}", "provider": "p", "protocol": "{protocol}", "prices": {{"input": "1"}}}}}}"#
            )
        };
        check(&kind("text", "chat"), "m.prices.output", "only a model of kind \"embedding\" has none");
        check(&kind("embedding", "messages"), "m.protocol", "expected \"chat\"");
        let models = table(&kind("embedding", "chat")).unwrap();
        assert_eq!((models.kind("m"), models.kind("n")), (ModelKind::Embedding, ModelKind::Text));
    }
}
