//! A request, judged: every field of the specification, by the rules of the model, before a provider is
//! asked. What it holds borrows from the body.

use std::ops::RangeInclusive;

use gatehouse_sdk::Refusal;

use crate::at::{At, words};
use crate::blocks::{self, Block, Notes, Role, Turn};
use crate::raw::{Fields, Raw, fields, is_string, items, text};
use crate::rules::{Rules, Sampling};
use crate::thinking::{self, Plan};
use crate::tools::{self, Choice, Tool};

/// The fields of the specification; any other passes only if the rules list it.
const FIELDS: [&str; 13] = [
    "model",
    "messages",
    "max_tokens",
    "thinking",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "stream",
    "stop_sequences",
    "metadata",
    "tools",
    "tool_choice",
];
const MOST_STOPS: usize = 4;

/// A request that may be sent.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Everything, in order.
    pub(crate) fields: Fields<'a>,
    pub(crate) system: Vec<Raw<'a>>,
    pub(crate) turns: Vec<Turn<'a>>,
    pub(crate) plan: Plan<'a>,
    pub(crate) temperature: Option<Raw<'a>>,
    pub(crate) top_p: Option<Raw<'a>>,
    pub(crate) top_k: Option<Raw<'a>>,
    pub(crate) stream: bool,
    pub(crate) stops: Vec<Raw<'a>>,
    pub(crate) user: Option<Raw<'a>>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) choice: Option<Choice<'a>>,
    pub(crate) notes: Notes,
}

impl<'a> Request<'a> {
    /// Judges `body`, which asks for the public model `model`.
    ///
    /// # Errors
    /// The first mistake.
    pub(crate) fn read(body: &'a str, model: &str, rules: &Rules) -> Result<Self, Refusal> {
        let fields = top(body)?;
        known(&fields, rules)?;
        let alias = is_alias(&fields, model)?;
        let (at, mut notes) = (&At::Top, Notes::default());
        let turns = blocks::turns(&at.key("messages"), fields.need(at, "messages")?, &mut notes)?;
        let max_tokens = max_tokens(&fields, model, rules)?;
        let thinking =
            fields.get("thinking").map(|raw| thinking::read(&at.key("thinking"), raw)).transpose()?;
        let plan = thinking::plan(thinking.as_ref(), alias, max_tokens, rules)?;
        if plan.max_tokens > max_tokens {
            within_cap(plan.max_tokens, model, rules)?;
        }
        let system = match fields.get("system") {
            Some(raw) => blocks::system(&at.key("system"), raw, &mut notes)?,
            None => Vec::new(),
        };
        let stream = fields.flag(at, "stream")?.unwrap_or(false);
        let tools = match fields.get("tools") {
            Some(raw) => tools::read(&at.key("tools"), raw, rules, &mut notes)?,
            None => Vec::new(),
        };
        if let Some(raw) = fields.get("output_config").filter(|raw| !raw.get().starts_with('{')) {
            return Err(at.key("output_config").wrong("an object", raw));
        }
        let choice = fields.get("tool_choice").map(|raw| tools::choice(&at.key("tool_choice"), raw));
        let mut request = Self {
            system,
            turns,
            temperature: number(&fields, "temperature")?,
            top_p: number(&fields, "top_p")?,
            top_k: top_k(&fields)?,
            stream,
            stops: stops(&fields)?,
            user: user(&fields)?,
            tools,
            choice: choice.transpose()?,
            plan,
            fields,
            notes,
        };
        request.sample(rules)?;
        Ok(request)
    }

    /// Takes out the sampling the model does not take, or refuses it.
    fn sample(&mut self, rules: &Rules) -> Result<(), Refusal> {
        let mut drop = self.plan.plain;
        match rules.sampling {
            _ if drop => {}
            Sampling::Free => {}
            Sampling::Either => {
                if self.temperature.is_some() && self.top_p.is_some() {
                    let rule = "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
                    return Err(words("top_p", rule));
                }
            }
            Sampling::None if rules.strict => {
                let given = [("temperature", self.temperature), ("top_p", self.top_p), ("top_k", self.top_k)];
                if let Some((name, _)) = given.iter().find(|(_, value)| value.is_some()) {
                    return Err(words(name, format!("`{name}` is deprecated for this model")));
                }
            }
            Sampling::None => drop = true,
        }
        if drop {
            (self.temperature, self.top_p, self.top_k) = (None, None, None);
        }
        Ok(())
    }

    /// Refuses a final assistant turn where the reply cannot be opened by one. A turn a provider's own tool
    /// has paused is gone on with, not opened.
    pub(crate) fn ends_with_user(&self, may_open: bool) -> Result<(), Refusal> {
        let Some(last) = self.turns.last().filter(|turn| turn.role == Role::Assistant && !may_open) else {
            return Ok(());
        };
        if last.blocks.iter().any(|block| matches!(block, Block::Other(_))) {
            return Ok(());
        }
        let rule = "This model does not support assistant message prefill. The conversation must end with a user message.";
        Err(words("messages", rule))
    }
}

/// The body's fields.
fn top(body: &str) -> Result<Fields<'_>, Refusal> {
    let whole = |message: String| Refusal::Invalid { field: None, message };
    if let Ok(fields) = serde_json::from_str(body) {
        return Ok(fields);
    }
    let raw: Raw<'_> = serde_json::from_str(body)
        .map_err(|error| whole(format!("The request body is not valid JSON: {error}")))?;
    if !raw.get().starts_with('{') {
        return Err(whole("the request body: expected a JSON object".to_owned()));
    }
    fields(&At::Key(&At::Top, "the request body"), raw)
}

fn known(fields: &Fields<'_>, rules: &Rules) -> Result<(), Refusal> {
    let strange = fields
        .0
        .iter()
        .map(|(name, _)| name.as_ref())
        .find(|name| !FIELDS.contains(name) && !rules.pass.iter().any(|passed| passed == name));
    match strange {
        None => Ok(()),
        Some(name) => {
            let shown: String = name.chars().take(60).collect();
            Err(At::Top.key(&shown).says("Extra inputs are not permitted"))
        }
    }
}

/// Whether the body asks by the `-thinking` alias, of the model's own id or of another name for it.
fn is_alias(fields: &Fields<'_>, model: &str) -> Result<bool, Refusal> {
    let Some(raw) = fields.get("model") else { return Ok(false) };
    let asked = text(raw).ok_or_else(|| At::Top.key("model").wrong("a string", raw))?;
    Ok(asked.ends_with("-thinking") && !model.ends_with("-thinking"))
}

fn max_tokens(fields: &Fields<'_>, model: &str, rules: &Rules) -> Result<u32, Refusal> {
    let raw = fields.need(&At::Top, "max_tokens")?;
    let asked: u64 = serde_json::from_str(raw.get())
        .map_err(|_| At::Top.key("max_tokens").wrong("an integer of at least 1", raw))?;
    if asked == 0 {
        return Err(At::Top.key("max_tokens").wrong("at least 1", raw));
    }
    if let Some(cap) = rules.max_output.filter(|cap| asked > u64::from(*cap)) {
        return Err(over_cap(asked, cap, model));
    }
    u32::try_from(asked).map_err(|_| At::Top.key("max_tokens").wrong(&format!("at most {}", u32::MAX), raw))
}

/// The cap again, for what the alias raised.
fn within_cap(tokens: u32, model: &str, rules: &Rules) -> Result<(), Refusal> {
    match rules.max_output {
        Some(cap) if tokens > cap => Err(over_cap(tokens.into(), cap, model)),
        _ => Ok(()),
    }
}

fn over_cap(asked: u64, cap: u32, model: &str) -> Refusal {
    let rule = "which is the maximum allowed number of output tokens for";
    At::Top.key("max_tokens").says(&format!("{asked} > {cap}, {rule} {model}"))
}

/// A number from 0 to 1.
fn number<'a>(fields: &Fields<'a>, name: &str) -> Result<Option<Raw<'a>>, Refusal> {
    const RANGE: RangeInclusive<f64> = 0.0..=1.0;
    let Some(raw) = fields.get(name) else { return Ok(None) };
    match serde_json::from_str::<f64>(raw.get()) {
        Ok(value) if RANGE.contains(&value) => Ok(Some(raw)),
        _ => Err(At::Top.key(name).wrong("a number from 0 to 1", raw)),
    }
}

fn top_k<'a>(fields: &Fields<'a>) -> Result<Option<Raw<'a>>, Refusal> {
    let Some(raw) = fields.get("top_k") else { return Ok(None) };
    match serde_json::from_str::<u64>(raw.get()) {
        Ok(_) => Ok(Some(raw)),
        Err(_) => Err(At::Top.key("top_k").wrong("an integer of at least 0", raw)),
    }
}

fn stops<'a>(fields: &Fields<'a>) -> Result<Vec<Raw<'a>>, Refusal> {
    let Some(raw) = fields.get("stop_sequences") else { return Ok(Vec::new()) };
    let at = &At::Top.key("stop_sequences");
    let found = items(at, raw)?;
    if found.len() > MOST_STOPS {
        return Err(at.wrong(&format!("at most {MOST_STOPS} strings"), raw));
    }
    for (index, stop) in found.iter().enumerate() {
        let text = text(stop).ok_or_else(|| at.item(index).wrong("a string", stop))?;
        if text.trim().is_empty() {
            return Err(at.says("each stop sequence must contain non-whitespace"));
        }
    }
    Ok(found)
}

fn user<'a>(top: &Fields<'a>) -> Result<Option<Raw<'a>>, Refusal> {
    let Some(raw) = top.get("metadata") else { return Ok(None) };
    let at = &At::Top.key("metadata");
    match fields(at, raw)?.get("user_id") {
        Some(user) if !is_string(user) => Err(at.key("user_id").wrong("a string", user)),
        user => Ok(user),
    }
}
