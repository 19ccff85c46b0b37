//! What a list would change: of each text model the prices that differ, by the entry that is the model's.

use std::collections::BTreeMap;
use std::str::FromStr;

use gatehouse_driver::{ModelConfig, ModelKind, TokenPrices};
use gatehouse_model::Credits;
use serde::Serialize;

use crate::price_list::list::{Converted, ListedPrices, OtherField, PriceList};

/// Models that an error names.
const NAMED: usize = 20;

/// A model whose prices are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its id in the configuration.
    pub(crate) model: String,
    /// Its entry in the list, where that has another name than the model and what its provider calls it.
    pub(crate) entry: Option<String>,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (model, entry) = text.split_once('=').map_or((text, None), |(model, entry)| (model, Some(entry)));
        if model.is_empty() || entry == Some("") {
            return Err("expected the id of a model, or MODEL=ENTRY".to_owned());
        }
        Ok(Self { model: model.to_owned(), entry: entry.map(str::to_owned) })
    }
}

/// What would change, for people's tables and for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Proposal {
    pub(super) models: Vec<ModelProposal>,
    /// Models without an entry.
    without_entry: Vec<String>,
}

/// The same of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ModelProposal {
    pub(super) model: String,
    entry: String,
    pub(super) changes: Vec<Change>,
    /// How many prices are as they were.
    unchanged: usize,
    not_understood: Vec<OtherField>,
    /// They stay.
    targets_with_own_prices: usize,
}

/// A price that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// Its name in the configuration, a counter's with a point.
    pub(super) price: &'static str,
    #[serde(rename = "before_micro")]
    before: Option<Credits>,
    #[serde(rename = "after_micro")]
    pub(super) after: Credits,
    rounded_up: bool,
}

/// Compares a list with the models of a configuration: with those that are wanted, or with all that it has an entry of.
///
/// # Errors
/// A model that there is not, an entry that there is not, or a price that cannot be read.
pub(crate) fn propose(
    list: &PriceList<'_>,
    models: &BTreeMap<String, ModelConfig>,
    wanted: &[Wanted],
    credits_per_dollar: Credits,
) -> Result<Proposal, String> {
    let all: Vec<Wanted>;
    let wanted = if wanted.is_empty() {
        all = models.keys().map(|id| Wanted { model: id.clone(), entry: None }).collect();
        &all
    } else {
        wanted
    };
    let mut proposal = Proposal::default();
    for Wanted { model, entry } in wanted {
        let Some(config) = models.get(model) else {
            let known: Vec<&str> = models.keys().take(NAMED).map(String::as_str).collect();
            let known = known.join(", ");
            return Err(format!(
                "--model: expected a text model of the configuration ({known}), got {model:?}"
            ));
        };
        let entry = match entry {
            Some(entry) => Some(entry.clone()),
            None => names(model, config).into_iter().find(|name| list.has(name)).map(str::to_owned),
        };
        match entry {
            Some(entry) => {
                let listed = list.prices(&entry, credits_per_dollar)?;
                proposal.models.push(of_model(model, config, entry, listed));
            }
            None => proposal.without_entry.push(model.clone()),
        }
    }
    Ok(proposal)
}

/// What its entry may be called: as the model is, or as its first provider calls it.
fn names<'c>(id: &'c str, config: &'c ModelConfig) -> Vec<&'c str> {
    let targets = config.targets.iter().flatten().filter_map(|target| target.upstream.as_deref());
    std::iter::once(id).chain(config.upstream.as_deref()).chain(targets).collect()
}

fn of_model(model: &str, config: &ModelConfig, entry: String, listed: ListedPrices) -> ModelProposal {
    let ListedPrices { mut prices, not_understood } = listed;
    if config.kind == ModelKind::Embedding {
        // It writes nothing.
        prices.remove("output");
    }
    let all = prices.len();
    let change = |(price, listed): (&'static str, Converted)| {
        let (before, after) = (configured(&config.prices, price), listed.credits);
        (before != Some(after)).then_some(Change { price, before, after, rounded_up: listed.is_rounded })
    };
    let changes: Vec<Change> = prices.into_iter().filter_map(change).collect();
    let unchanged = all - changes.len();
    let targets_with_own_prices =
        config.targets.iter().flatten().filter(|target| target.prices.is_some()).count();
    ModelProposal {
        model: model.to_owned(),
        entry,
        changes,
        unchanged,
        not_understood,
        targets_with_own_prices,
    }
}

fn configured(prices: &TokenPrices, name: &str) -> Option<Credits> {
    match name {
        "input" => Some(prices.input),
        "output" => prices.output,
        "cached" => prices.cached,
        "cache_write" => prices.cache_write,
        "cache_write_1h" => prices.cache_write_1h,
        counter => prices.counters.get(counter.strip_prefix("counters.")?).copied(),
    }
}

impl Proposal {
    /// How many prices would change.
    pub(crate) fn changes(&self) -> usize {
        self.models.iter().map(|model| model.changes.len()).sum()
    }

    /// The first price that these models do not have as the proposal wants it, by its path.
    pub(crate) fn missed_by(&self, models: &BTreeMap<String, ModelConfig>) -> Option<String> {
        let mut all =
            self.models.iter().flat_map(|one| one.changes.iter().map(move |change| (&one.model, change)));
        let missed = all.find(|(model, change)| {
            let found = models.get(*model).and_then(|config| configured(&config.prices, change.price));
            found != Some(change.after)
        });
        missed.map(|(model, change)| format!("models.{model}.prices.{}", change.price))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn models() -> BTreeMap<String, ModelConfig> {
        let json = json!({
            "mine": {"provider": "p", "protocol": "chat", "upstream": "listed", "prices": {"input": "1", "output": "2"}},
            "listed-too": {"targets": [
                {"provider": "p", "protocol": "chat"},
                {"provider": "q", "protocol": "chat", "prices": {"input": "9", "output": "9"}},
            ], "prices": {"input": "3", "output": "15", "cached": "0.5"}},
            "embeds": {"kind": "embedding", "provider": "p", "protocol": "chat", "prices": {"input": "1"}},
            "alone": {"provider": "p", "protocol": "chat", "prices": {"input": "1", "output": "2"}},
        });
        serde_json::from_value(json).expect("models")
    }

    const LIST: &str = r#"{
        "listed": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06},
        "listed-too": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 3e-07},
        "embeds": {"input_cost_per_token": 2e-08, "output_cost_per_token": 0.0},
        "other": {"input_cost_per_token": 5e-06, "output_cost_per_token": 6e-06}
    }"#;

    fn told(wanted: &[Wanted]) -> Result<Vec<(String, String)>, String> {
        let list = PriceList::parse(LIST).expect("a list");
        let found = propose(&list, &models(), wanted, "1".parse().expect("credits"))?;
        let lines = found.models.iter().flat_map(|one| {
            one.changes.iter().map(|change| (one.model.clone(), format!("{}={}", change.price, change.after)))
        });
        Ok(lines.collect())
    }

    /// Without it an entry is taken for another model's, or a price that stands is told as new.
    #[test]
    fn each_model_is_compared_with_its_own_entry() {
        let line = |model: &str, change: &str| (model.to_owned(), change.to_owned());
        let all = told(&[]).expect("a proposal");
        assert_eq!(
            all,
            [line("embeds", "input=0.02"), line("listed-too", "cached=0.3"), line("mine", "output=4")]
        );
        let other = Wanted { model: "alone".to_owned(), entry: Some("other".to_owned()) };
        assert_eq!(
            told(&[other]).expect("a proposal"),
            [line("alone", "input=5"), line("alone", "output=6")]
        );
        let wanted = |model: &str, entry: Option<&str>| Wanted {
            model: model.to_owned(),
            entry: entry.map(str::to_owned),
        };
        let error = told(&[wanted("none", None)]).expect_err("refused");
        assert!(error.contains("(alone, embeds, listed-too, mine), got \"none\""), "{error}");
        assert!(told(&[wanted("mine", Some("gone"))]).expect_err("refused").contains("no entry \"gone\""));
        assert_eq!(told(&[wanted("alone", None)]).expect("a proposal"), []);
    }

    #[test]
    fn what_a_configuration_lacks_of_it_is_named() {
        let list = PriceList::parse(LIST).expect("a list");
        let found = propose(&list, &models(), &[], "1".parse().expect("credits")).expect("a proposal");
        assert_eq!(found.missed_by(&models()).as_deref(), Some("models.embeds.prices.input"));
        let json = json!(found);
        assert_eq!((&json["without_entry"], found.changes()), (&json!(["alone"]), 3));
        assert_eq!(json["models"][1]["targets_with_own_prices"], 1);
    }
}
