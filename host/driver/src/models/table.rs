//! The operator's table of models that are answered while their client waits: each model's kind, targets and price.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

use gatehouse_model::{Credits, Prepared, Protocol, words};
use serde::Deserialize;

use crate::api::{ListedPrice, Modality, ModelFacts};
use crate::models::bill::{Bill, TokenPrices};
use crate::models::counters;
use crate::models::passed::{self, PassPrice, PassPrices};
use crate::models::targets::{self, Target, TargetConfig};

/// The surface of models of kind [`ModelKind::Embedding`].
const EMBEDDINGS: &str = "embeddings.create";

words! {
    /// What a model of the table makes, by its name in the configuration and for clients.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ModelKind {
        /// Text, on every surface of text.
        #[default]
        Text = "text",
        /// Vectors of texts.
        Embedding = "embedding",
    }
}

impl ModelKind {
    /// The kind of model that a surface is for.
    pub(crate) fn of_surface(surface: &str) -> Self {
        if surface == EMBEDDINGS { Self::Embedding } else { Self::Text }
    }

    /// What is asked of it, by the conventions for generative models.
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Text => "chat",
            Self::Embedding => "embeddings",
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
    /// Which of `[providers]` serves it, where it is one.
    pub provider: Option<String>,
    /// What that provider speaks: `messages`, `chat`, or the dialect of a family. Embeddings come from `chat` alone.
    pub protocol: Option<Protocol>,
    /// What that provider calls it; absent: its own id.
    pub upstream: Option<String>,
    /// The providers that may answer, in the order in which they are tried; instead of the three fields above.
    pub targets: Option<Vec<TargetConfig>>,
    /// Other names for it. A name that ends in `-thinking` switches thinking on.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Credits for a million tokens, where the target that answers has no prices of its own.
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

impl ModelConfig {
    /// Takes out the targets whose provider `is_gone`; gives the path of each below the model, and its provider.
    pub fn take_out_targets(&mut self, is_gone: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let own = self.provider.take_if(|provider| is_gone(provider));
        let mut gone: Vec<_> = own.into_iter().map(|provider| ("provider".to_owned(), provider)).collect();
        let mut number = 0;
        if let Some(targets) = &mut self.targets {
            targets.retain(|target| {
                let field = format!("targets[{number}].provider");
                number += 1;
                let goes = is_gone(&target.provider);
                if goes {
                    gone.push((field, target.provider.clone()));
                }
                !goes
            });
        }
        gone
    }

    /// Whether there is a provider that may answer.
    #[must_use]
    pub fn has_provider(&self) -> bool {
        self.provider.is_some() || self.targets.as_ref().is_some_and(|targets| !targets.is_empty())
    }
}

/// Whether every entry of the table can be used.
///
/// # Errors
/// The first that cannot, as the path below `models` and what was expected.
pub fn check_models(table: &BTreeMap<String, ModelConfig>) -> Result<(), (String, String)> {
    TextModels::new(table).map(drop)
}

impl TokenPrices {
    /// Whether a model of that kind can have them.
    ///
    /// # Errors
    /// The first price that cannot be used, as the path below the model, and what was expected.
    pub(crate) fn check(&self, kind: ModelKind) -> Result<(), (String, String)> {
        let all = [
            ("input", Some(self.input)),
            ("output", self.output),
            ("cached", self.cached),
            ("cache_write", self.cache_write),
            ("cache_write_1h", self.cache_write_1h),
        ];
        let wrong = |name: &str, why: &str| Err((format!("prices.{name}"), why.to_owned()));
        if let Some((name, _)) =
            all.iter().find(|(_, price)| price.is_some_and(|price| price < Credits::ZERO))
        {
            return wrong(name, "expected zero or more credits");
        }
        counters::check(&self.counters)?;
        if kind == ModelKind::Text && self.output.is_none() {
            return wrong(
                "output",
                "expected credits for a million tokens; only a model of kind \"embedding\" has none",
            );
        }
        Ok(())
    }
}

/// A text model of the table.
#[derive(Debug)]
pub(crate) struct TextModel {
    pub(crate) id: String,
    /// One at least.
    pub(crate) targets: Vec<Target>,
    pub(crate) prices: TokenPrices,
    pub(crate) pass_prices: PassPrices,
    pub(crate) kind: ModelKind,
    pub(crate) facts: ModelFacts,
}

impl TextModel {
    /// The price of a request at a target. `None` when it is more than can be counted.
    pub(crate) fn bill(&self, target: &Target, prepared: &Prepared) -> Option<Bill> {
        passed::bill(&self.pass_prices, target.prices.clone(), prepared)
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
            let at = |field: &str| format!("{id}.{field}");
            let wrong = |field: &str, why: String| Err((at(field), why));
            let targets = targets::of_model(id, config).map_err(|(field, why)| (at(&field), why))?;
            if let Err((name, why)) = passed::check(&config.pass_prices, config.rules.get("pass")) {
                return wrong(&format!("pass_prices.{name:?}"), why);
            }
            let model = Arc::new(TextModel {
                id: id.clone(),
                targets,
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

    /// Their ids, each once or under each alias too.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|model| model.id.as_str())
    }

    /// The provider that the model of that id is asked at first.
    pub(crate) fn provider(&self, id: &str) -> &str {
        self.targets(id).first().map_or("", |target| &target.route.provider)
    }

    /// The targets of the model of that id, in order.
    pub(crate) fn targets(&self, id: &str) -> &[Target] {
        self.find(id).map_or(&[], |model| &model.targets)
    }

    /// What the model of that id makes.
    pub(crate) fn kind(&self, id: &str) -> ModelKind {
        self.find(id).map_or_else(ModelKind::default, |model| model.kind)
    }

    /// Every name with the id of its model, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut names: Vec<_> =
            self.0.iter().map(|(name, model)| (name.as_str(), model.id.as_str())).collect();
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
        let route = &models.find("m-thinking").unwrap().targets[0].route;
        assert_eq!((route.model.as_str(), route.upstream.as_str()), ("m", "m"));
        assert_eq!(&*route.rules, r#"{"a":1}"#);
        assert_eq!(models.find("n").unwrap().targets[0].route.upstream, "x");
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
