//! The targets of a text model: the providers that may answer it, in the order in which they are tried.
//!
//! A model with one names it in its own table. Targets that follow each other and have a `weight` are equal: a conversation
//! goes to one of them, and to the others only while that one fails.

use std::time::Duration;

use gatehouse_model::{Conversation, Protocol, TextRoute};
use serde::Deserialize;

use crate::models::bill::TokenPrices;
use crate::models::table::{ModelConfig, ModelKind};

/// Targets of one model. More would not be tried within any client's patience.
const MAX_TARGETS: usize = 16;
/// Seconds that a target may be silent before a stream goes to the next one, unless it says otherwise.
const FIRST_BYTE_S: u32 = 60;
/// A whole answer comes when all of it is written: so many times longer than its first words take.
const WHOLE_ANSWER: u32 = 10;

/// One entry of `models.<id>.targets`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetConfig {
    /// Which of `[providers]` serves it.
    pub provider: String,
    /// What that provider speaks.
    pub protocol: Protocol,
    /// What that provider calls the model; absent: the model's id.
    pub upstream: Option<String>,
    /// Credits for a million tokens; absent: those of the model.
    pub prices: Option<TokenPrices>,
    /// Seconds without content of a stream after which the next target is tried; absent: 60.
    pub first_byte_s: Option<u32>,
    /// Seconds without a whole answer after which the next target is tried; absent: ten times `first_byte_s`, and no more
    /// than half of the time limit.
    pub answer_s: Option<u32>,
    /// Its share among the targets with a weight that it stands with.
    pub weight: Option<u32>,
}

/// A target of a model.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) route: TextRoute,
    pub(crate) prices: TokenPrices,
    first_byte: Duration,
    answer: Option<Duration>,
    weight: Option<u32>,
    /// `provider/upstream`, for clients and operators.
    pub(crate) name: String,
}

impl Target {
    /// How long it may be silent while another target could answer.
    pub(crate) fn patience(&self, streaming: bool, time_limit: Duration) -> Duration {
        if streaming {
            return self.first_byte;
        }
        self.answer.unwrap_or_else(|| self.first_byte.saturating_mul(WHOLE_ANSWER).min(time_limit / 2))
    }
}

/// What is wrong: the path below the model, and what was expected.
type Wrong = (String, String);

/// The targets of a model's table.
pub(crate) fn of_model(id: &str, config: &ModelConfig) -> Result<Vec<Target>, Wrong> {
    let listed = listed(config)?;
    let rules: std::sync::Arc<str> = serde_json::Value::Object(config.rules.clone()).to_string().into();
    let mut targets: Vec<Target> = Vec::with_capacity(listed.len());
    for (number, own) in listed.into_iter().enumerate() {
        let at = |field: &str| match config.targets {
            Some(_) => format!("targets[{number}].{field}"),
            None => field.to_owned(),
        };
        let prices = own.prices.as_ref().unwrap_or(&config.prices).clone();
        if let Err((field, why)) = prices.check(config.kind) {
            return Err((if own.prices.is_some() { at(&field) } else { field }, why));
        }
        if config.kind == ModelKind::Embedding && own.protocol != Protocol::Chat {
            let why = "expected \"chat\": embeddings come from providers of that protocol";
            return Err((at("protocol"), why.to_owned()));
        }
        let counts = [("first_byte_s", own.first_byte_s), ("answer_s", own.answer_s), ("weight", own.weight)];
        for (field, value) in counts {
            if value == Some(0) {
                return Err((at(field), "expected 1 or more, got 0".to_owned()));
            }
        }
        let upstream = own.upstream.unwrap_or_else(|| id.to_owned());
        let name = format!("{}/{upstream}", own.provider);
        if let Some(first) = targets.iter().position(|known| known.name == name) {
            let why =
                format!("expected another provider or upstream than targets[{first}], got {name} again");
            return Err((at("provider"), why));
        }
        let TargetConfig { provider, protocol, first_byte_s, answer_s, weight, .. } = own;
        let (model, rules) = (id.to_owned(), std::sync::Arc::clone(&rules));
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        targets.push(Target {
            route: TextRoute { model, upstream, provider, protocol, rules },
            prices,
            first_byte: seconds(first_byte_s.unwrap_or(FIRST_BYTE_S)),
            answer: answer_s.map(seconds),
            weight,
            name,
        });
    }
    Ok(targets)
}

/// The list, or the one target that the model's own table is.
fn listed(config: &ModelConfig) -> Result<Vec<TargetConfig>, Wrong> {
    let ModelConfig { provider, protocol, upstream, targets, .. } = config;
    let missing =
        |field: &str, expected: &str| (field.to_owned(), format!("expected {expected}, nothing came"));
    match targets {
        None => Ok(vec![TargetConfig {
            provider: provider
                .clone()
                .ok_or_else(|| missing("provider", "one of [providers], or a list of `targets`"))?,
            protocol: protocol.clone().ok_or_else(|| missing("protocol", "what the provider speaks"))?,
            upstream: upstream.clone(),
            prices: None,
            first_byte_s: None,
            answer_s: None,
            weight: None,
        }]),
        Some(_) if provider.is_some() || protocol.is_some() || upstream.is_some() => {
            let why = "expected `targets` alone, got `provider`, `protocol` or `upstream` beside it: they belong into the list";
            Err(("targets".to_owned(), why.to_owned()))
        }
        Some(targets) if targets.is_empty() || targets.len() > MAX_TARGETS => {
            Err(("targets".to_owned(), format!("expected 1 to {MAX_TARGETS} targets, got {}", targets.len())))
        }
        Some(targets) => Ok(targets.clone()),
    }
}

/// Whether some of the targets are equal.
pub(crate) fn has_equals(targets: &[Target]) -> bool {
    targets.windows(2).any(|pair| is_equal(&pair[0], &pair[1]))
}

fn is_equal(one: &Target, other: &Target) -> bool {
    one.weight.is_some() && other.weight.is_some()
}

/// The numbers of the targets in the order in which a conversation tries them.
pub(crate) fn ordered(targets: &[Target], conversation: Option<Conversation>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    let Some(conversation) = conversation else { return order };
    let pull = |&number: &usize| {
        let Target { name, weight, .. } = &targets[number];
        conversation.pull(name, weight.unwrap_or(1))
    };
    for equals in order.chunk_by_mut(|&one, &other| is_equal(&targets[one], &targets[other])) {
        equals.sort_by(|one, other| pull(other).total_cmp(&pull(one)));
    }
    order
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn targets(model: Value) -> Result<Vec<Target>, Wrong> {
        let mut model = model;
        model["prices"] = json!({"input": "1", "output": "2"});
        of_model("m", &serde_json::from_value(model).expect("a model"))
    }

    fn target(provider: &str, more: Value) -> Value {
        let mut target = json!({"provider": provider, "protocol": "chat"});
        target.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        target
    }

    #[test]
    fn a_model_with_one_provider_is_a_list_of_one() {
        let one = targets(json!({"provider": "p", "protocol": "messages"})).expect("usable");
        let listed =
            targets(json!({"targets": [{"provider": "p", "protocol": "messages"}]})).expect("usable");
        assert_eq!((one.len(), &one[0].route), (1, &listed[0].route));
        assert_eq!((one[0].name.as_str(), &one[0].prices), ("p/m", &listed[0].prices));
    }

    /// Without it an operator learns of a typo in a list from the failed requests of its clients.
    #[test]
    fn what_cannot_be_used_is_named_by_its_place_in_the_list() {
        let (plain, free) = (target("p", json!({})), json!({"prices": {"input": "-1", "output": "1"}}));
        for (model, path, why) in [
            (json!({"targets": []}), "targets", "expected 1 to 16 targets, got 0"),
            (json!({"targets": vec![plain.clone(); 17]}), "targets", "got 17"),
            (json!({"targets": [plain], "provider": "p"}), "targets", "`targets` alone"),
            (json!({"targets": [plain], "upstream": "u"}), "targets", "`targets` alone"),
            (json!({"targets": [plain, plain]}), "targets[1].provider", "than targets[0], got p/m again"),
            (
                json!({"targets": [plain, target("q", json!({"weight": 0}))]}),
                "targets[1].weight",
                "1 or more",
            ),
            (
                json!({"targets": [target("q", json!({"first_byte_s": 0}))]}),
                "targets[0].first_byte_s",
                "1 or more",
            ),
            (json!({"targets": [plain, target("q", free)]}), "targets[1].prices.input", "zero or more"),
            (
                json!({"targets": [target("q", json!({"prices": {"input": "1"}}))]}),
                "targets[0].prices.output",
                "only a model of kind",
            ),
            (
                json!({"kind": "embedding", "targets": [plain, {"provider": "q", "protocol": "messages"}]}),
                "targets[1].protocol",
                "expected \"chat\"",
            ),
            (json!({"targets": [target("q", json!({"answer_s": 0}))]}), "targets[0].answer_s", "1 or more"),
            (json!({"protocol": "chat"}), "provider", "or a list of `targets`"),
            (json!({"provider": "p"}), "protocol", "what the provider speaks"),
        ] {
            let (found, said) = targets(model.clone()).expect_err("unusable");
            assert!(found == path && said.contains(why), "{model}: {found}: {said}");
        }
    }

    /// Without it a conversation moves between equal providers, and pays for its whole prompt each time.
    #[test]
    fn equal_targets_share_conversations_and_the_others_keep_their_order() {
        let weight = |weight: u32| json!({"weight": weight});
        let list = json!([
            target("first", json!({})),
            target("a", weight(1)),
            target("b", weight(3)),
            target("last", json!({})),
        ]);
        let targets = targets(json!({ "targets": list })).expect("usable");
        assert!(has_equals(&targets) && !has_equals(&targets[..2]));
        let mut shares = [0_u32; 2];
        for number in 0_u32..400 {
            let conversation = Some(Conversation::of(&[&number.to_le_bytes()]));
            let order = ordered(&targets, conversation);
            assert_eq!(ordered(&targets, conversation), order);
            assert!(order[0] == 0 && order[3] == 3, "{order:?}");
            shares[order[1] - 1] += 1;
        }
        assert!((60..140).contains(&shares[0]), "about a quarter: {shares:?}");
        assert_eq!(ordered(&targets, None), [0, 1, 2, 3]);
    }

    /// Without it a healthy provider that writes a long answer is left for the next one, and both bill it.
    #[test]
    fn a_whole_answer_is_waited_for_longer_than_the_start_of_a_stream() {
        let limit = Duration::from_secs(600);
        for (more, stream, whole) in [
            (json!({}), 60, 300),
            (json!({"first_byte_s": 7}), 7, 70),
            (json!({"first_byte_s": 200}), 200, 300),
            (json!({"first_byte_s": 7, "answer_s": 20}), 7, 20),
            (json!({"answer_s": 500}), 60, 500),
        ] {
            let targets = targets(json!({ "targets": [target("q", more.clone())] })).expect("usable");
            let patience = |streaming| targets[0].patience(streaming, limit).as_secs();
            assert_eq!((patience(true), patience(false)), (stream, whole), "{more}");
        }
    }
}
