//! A request, checked: every field of the specification, by the rules of the model. Borrows from the body.

pub(crate) mod blocks;
pub(crate) mod conversation;
pub(crate) mod extras;
pub(crate) mod fields;
pub(crate) mod findings;
pub(crate) mod thinking;
pub(crate) mod tools;
mod unknown;

use gatehouse_sdk::{Facts, Protocol, Refusal};

use gatehouse_text_protocols::check::{self, array};
use gatehouse_text_protocols::json::{JsonString, Raw, UniqueObject, quoted};
use gatehouse_text_protocols::limits::{
    MAX_STOPS, THINKING_SUFFIX, no_prefill, one_sampling_field_only, over_max_output,
    sampling_field_deprecated,
};
use gatehouse_text_protocols::names::check_case;
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::prefill;
use gatehouse_text_protocols::rules::{Prefill, Rules, Sampling};
use gatehouse_text_protocols::tool_names;

use blocks::{Block, Message, Role};
use fields::{boolean, object, required, wrong};
use findings::Findings;
use thinking::{Situation, ThinkingPlan};
use tools::{Tool, ToolChoice};

/// The fields of the specification; `extras` has the others.
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

/// A checked request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Every field, in order.
    pub(crate) fields: UniqueObject<'a>,
    pub(crate) system: Vec<JsonString<'a>>,
    pub(crate) messages: Vec<Message<'a>>,
    /// Which of `messages` are sent, and in which order, where it is not all of them in their own.
    pub(crate) order: Option<Vec<usize>>,
    /// What a model that continues no message is told instead of the last one.
    pub(crate) told: Option<String>,
    pub(crate) plan: ThinkingPlan<'a>,
    pub(crate) temperature: Option<Raw<'a>>,
    pub(crate) top_p: Option<Raw<'a>>,
    pub(crate) top_k: Option<Raw<'a>>,
    pub(crate) stream: bool,
    pub(crate) stops: Vec<JsonString<'a>>,
    pub(crate) user: Option<JsonString<'a>>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) choice: Option<ToolChoice<'a>>,
    pub(crate) findings: Findings,
}

impl<'a> Request<'a> {
    /// Checks `body`, a request for the public model `model` of a provider that speaks `protocol`.
    ///
    /// # Errors
    /// The first wrong field.
    pub(crate) fn read(
        body: &'a str,
        model: &str,
        protocol: Protocol,
        blobs: &[Facts],
        rules: &Rules,
    ) -> Result<Self, Refusal> {
        let fields = top(body)?;
        let is_chat = protocol == Protocol::Chat;
        check_case(&Path::DOTTED, &fields)?;
        extras::check(&fields, is_chat, rules)?;
        let alias = is_alias(&fields, model)?;
        let at = &Path::DOTTED;
        let mut findings = Findings::new(blobs, rules, is_chat || !rules.system_messages);
        findings.is_chat = is_chat;
        extras::sent(&fields, is_chat, rules).for_each(|raw| findings.count_raw(raw));
        let messages =
            blocks::messages(&at.key("messages"), required(at, &fields, "messages")?, &mut findings)?;
        let max_tokens = max_tokens(&fields, model, rules)?;
        let thinking =
            fields.get("thinking").map(|raw| thinking::read(&at.key("thinking"), raw)).transpose()?;
        let choice = fields.get("tool_choice").map(|raw| tools::choice(&at.key("tool_choice"), raw));
        let choice = choice.transpose()?;
        let effort = fields.object("output_config").and_then(|config| config.text("effort"));
        let situation = Situation {
            alias,
            max_tokens,
            requested: fields.unsigned("max_tokens").unwrap_or_default(),
            is_chat,
            excludes_budget: choice.as_ref().is_some_and(ToolChoice::forces)
                || conversation::tool_loop_lacks_thinking(&messages),
            share: thinking::share(effort.as_deref()),
        };
        let plan = thinking::plan(thinking.as_ref(), situation, rules)?;
        // The alias may have raised the limit.
        if let Some(cap) = rules.max_output.filter(|cap| plan.max_tokens > max_tokens.max(*cap)) {
            return Err(over_max_output("max_tokens", plan.max_tokens.into(), cap, model));
        }
        let system = fields.get("system").map(|raw| blocks::system(&at.key("system"), raw, &mut findings));
        let system = system.transpose()?.unwrap_or_default();
        let stream = boolean(at, &fields, "stream")?.unwrap_or(false);
        let tools = fields.get("tools").map(|raw| tools::read(&at.key("tools"), raw, rules, &mut findings));
        let tools = tools.transpose()?.unwrap_or_default();
        if let Some(raw) = fields.get("output_config").filter(|raw| !raw.get().starts_with('{')) {
            return Err(wrong(&at.key("output_config"), "an object", raw));
        }
        let mut request = Self {
            system,
            order: conversation::sent(&messages, &findings),
            told: None,
            messages,
            temperature: number(&fields, "temperature")?,
            top_p: number(&fields, "top_p")?,
            top_k: top_k(&fields)?,
            stream,
            stops: stops(&fields)?,
            user: user(&fields)?,
            tools,
            choice,
            plan,
            fields,
            findings,
        };
        request.apply_sampling_rules(rules)?;
        Ok(request)
    }

    /// Drops the sampling fields the model does not take, or refuses them.
    fn apply_sampling_rules(&mut self, rules: &Rules) -> Result<(), Refusal> {
        let mut drop = self.plan.no_sampling;
        match rules.sampling {
            _ if drop => {}
            Sampling::Free => {}
            Sampling::Either => {
                // A default is no second setting.
                let is_default = |value: Raw<'_>| value.get().parse() == Ok(1.0);
                match (self.temperature, self.top_p) {
                    (Some(_), Some(top_p)) if is_default(top_p) => self.top_p = None,
                    (Some(temperature), Some(_)) if is_default(temperature) => self.temperature = None,
                    (Some(_), Some(_)) => return Err(one_sampling_field_only()),
                    _ => {}
                }
            }
            Sampling::None if rules.strict => {
                let given = [("temperature", self.temperature), ("top_p", self.top_p), ("top_k", self.top_k)];
                if let Some((name, _)) = given.iter().find(|(_, value)| value.is_some()) {
                    return Err(sampling_field_deprecated(name));
                }
            }
            Sampling::None => drop = true,
        }
        if drop {
            (self.temperature, self.top_p, self.top_k) = (None, None, None);
        }
        Ok(())
    }

    /// Sends the conversation without that message.
    fn leave_out(&mut self, at: usize) {
        let order = self.order.take().unwrap_or_else(|| (0..self.messages.len()).collect());
        self.order = Some(order.into_iter().filter(|sent| *sent != at).collect());
    }

    /// What a provider was sent in place of the client's words for tools: names that are too long for a chat provider, and
    /// successors of old types.
    pub(crate) fn names(&self, is_chat: bool) -> Vec<(String, String)> {
        if is_chat {
            let names = self.tools.iter().filter_map(|tool| match tool {
                Tool::Custom { name, .. } => Some(name.decoded()),
                Tool::Typed { .. } => None,
            });
            return tool_names::renamed(names, tool_names::CHAT_MAX);
        }
        let upgraded = self.tools.iter().filter_map(|tool| match tool {
            Tool::Typed { kind, successor, .. } if kind != successor => {
                Some((successor.clone(), kind.clone()))
            }
            _ => None,
        });
        upgraded.collect()
    }

    /// Decides about a final assistant message, which the answer is to go on from; what of the answer the client has already.
    /// A message that a provider's own tool has paused is always continued.
    pub(crate) fn end(&mut self, rules: &Rules, is_chat: bool) -> Result<String, Refusal> {
        let at = self.messages.len() - 1;
        let last = &self.messages[at];
        let is_paused = last.blocks.iter().any(|block| matches!(block, Block::Other(_)));
        if last.role != Role::Assistant || is_paused {
            return Ok(String::new());
        }
        let texts = || {
            last.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(*text),
                _ => None,
            })
        };
        let has_calls = last.blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let prefill = rules.prefill_of(is_chat);
        if prefill == Prefill::Native && is_chat {
            return Ok(String::new());
        }
        let text: String = texts().map(JsonString::decoded).collect();
        let is_silent = last.blocks.iter().all(|block| matches!(block, Block::Text(text) if text.is_blank()));
        match prefill {
            Prefill::Native | Prefill::Emulate if is_silent && at > 0 => {
                self.leave_out(at);
                Ok(text)
            }
            Prefill::Native => {
                let Some(last) = texts().rfind(|text| !text.is_blank()) else {
                    return Ok(String::new());
                };
                let text = last.decoded();
                let kept = text.trim_end();
                // A Messages provider takes no white space there; the model writes it again.
                if kept.len() == text.len() {
                    return Ok(String::new());
                }
                self.findings.edits.replace(last.raw(), quoted(kept));
                Ok(text[kept.len()..].to_owned())
            }
            Prefill::Emulate if !has_calls => {
                self.leave_out(at);
                self.told = Some(prefill::instruction(text.trim_end()));
                let more = self.plan.max_tokens.saturating_add(prefill::repeated_tokens(&text));
                self.plan.max_tokens =
                    more.min(rules.max_output.unwrap_or(u32::MAX)).max(self.plan.max_tokens);
                Ok(text)
            }
            Prefill::Emulate | Prefill::Refuse => Err(no_prefill()),
        }
    }
}

/// The body's fields.
fn top(body: &str) -> Result<UniqueObject<'_>, Refusal> {
    let whole = |message: String| Refusal::Invalid { field: None, message };
    if let Ok(fields) = serde_json::from_str(body) {
        return Ok(fields);
    }
    let raw: Raw<'_> = serde_json::from_str(body)
        .map_err(|error| whole(format!("The request body is not valid JSON: {error}")))?;
    if !raw.get().starts_with('{') {
        return Err(whole("the request body: expected a JSON object".to_owned()));
    }
    object(&Path::DOTTED.key("the request body"), raw)
}

/// Whether the request names a `-thinking` alias: of the model's own id or of another name for it.
fn is_alias(fields: &UniqueObject<'_>, model: &str) -> Result<bool, Refusal> {
    let Some(raw) = fields.get("model") else { return Ok(false) };
    let name = JsonString::of(raw)
        .and_then(JsonString::decode)
        .ok_or_else(|| wrong(&Path::DOTTED.key("model"), "a string", raw))?;
    Ok(name.ends_with(THINKING_SUFFIX) && !model.ends_with(THINKING_SUFFIX))
}

fn max_tokens(fields: &UniqueObject<'_>, model: &str, rules: &Rules) -> Result<u32, Refusal> {
    let raw = required(&Path::DOTTED, fields, "max_tokens")?;
    let requested = fields.unsigned("max_tokens");
    let requested =
        requested.ok_or_else(|| wrong(&Path::DOTTED.key("max_tokens"), "an integer of at least 1", raw))?;
    if requested == 0 {
        return Err(wrong(&Path::DOTTED.key("max_tokens"), "at least 1", raw));
    }
    if let Some(cap) = rules.max_output.filter(|cap| requested > u64::from(*cap)) {
        // Clients choose it for the models they know, and it is no more than a limit.
        if !rules.strict {
            return Ok(cap);
        }
        return Err(over_max_output("max_tokens", requested, cap, model));
    }
    u32::try_from(requested)
        .map_err(|_| wrong(&Path::DOTTED.key("max_tokens"), &format!("at most {}", u32::MAX), raw))
}

/// A number from 0 to 1.
fn number<'a>(fields: &UniqueObject<'a>, name: &str) -> Result<Option<Raw<'a>>, Refusal> {
    let Some(raw) = fields.get(name) else { return Ok(None) };
    match serde_json::from_str::<f64>(raw.get()) {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(Some(raw)),
        _ => Err(wrong(&Path::DOTTED.key(name), "a number from 0 to 1", raw)),
    }
}

fn top_k<'a>(fields: &UniqueObject<'a>) -> Result<Option<Raw<'a>>, Refusal> {
    let Some(raw) = fields.get("top_k") else { return Ok(None) };
    match fields.unsigned("top_k") {
        Some(_) => Ok(Some(raw)),
        None => Err(wrong(&Path::DOTTED.key("top_k"), "an integer of at least 0", raw)),
    }
}

fn stops<'a>(fields: &UniqueObject<'a>) -> Result<Vec<JsonString<'a>>, Refusal> {
    let Some(raw) = fields.get("stop_sequences") else { return Ok(Vec::new()) };
    let at = &Path::DOTTED.key("stop_sequences");
    let found = array(at, raw)?;
    if found.len() > MAX_STOPS {
        return Err(wrong(at, &format!("at most {MAX_STOPS} strings"), raw));
    }
    let stop = |(index, raw)| {
        let stop = JsonString::of(raw).and_then(|stop| Some((stop, stop.decode()?)));
        let (stop, text) = stop.ok_or_else(|| wrong(&at.index(index), "a string", raw))?;
        if text.trim().is_empty() {
            return Err(at.sentence("each stop sequence must contain non-whitespace"));
        }
        Ok(stop)
    };
    found.into_iter().enumerate().map(stop).collect()
}

fn user<'a>(top: &UniqueObject<'a>) -> Result<Option<JsonString<'a>>, Refusal> {
    let Some(raw) = top.get("metadata") else { return Ok(None) };
    let at = &Path::DOTTED.key("metadata");
    let user = object(at, raw)?.get("user_id");
    user.map(|user| check::string(&at.key("user_id"), user)).transpose()
}
