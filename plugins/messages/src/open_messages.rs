//! A request for a provider that speaks Messages itself: the client's bytes, but for the few values that
//! have to change.

use gatehouse_sdk::{Call, Refusal, TextRequest};

use crate::raw::{Fields, Raw, quoted};
use crate::request::Request;
use crate::rules::Rules;
use crate::thinking::Plan;
use crate::tools::Tool;

/// The call.
///
/// # Errors
/// What the model of this route does not take.
pub(crate) fn call(request: &Request<'_>, inquiry: &TextRequest, rules: &Rules) -> Result<Call, Refusal> {
    request.ends_with_user(rules.prefill)?;
    let call = Call::post(inquiry.route.provider.as_str(), "/v1/messages")
        .header("anthropic-version", rules.version.as_str())
        .written(body(request, inquiry));
    let betas = betas(request, inquiry, rules);
    Ok(if betas.is_empty() { call } else { call.header("anthropic-beta", betas.join(",")) })
}

fn body(request: &Request<'_>, inquiry: &TextRequest) -> String {
    let mut out = Object::new(inquiry.body.len() + 256);
    let plan = &request.plan;
    out.field("model", &quoted(&inquiry.route.upstream));
    for (name, value) in request.fields.0.iter().filter(|(_, value)| value.get() != "null") {
        match name.as_ref() {
            "model" => {}
            "max_tokens" => out.field(name, &plan.max_tokens.to_string()),
            "thinking" => {
                if let Some(thinking) = &plan.thinking {
                    out.field(name, thinking);
                }
            }
            "temperature" => out.sampling(name, request.temperature),
            "top_p" => out.sampling(name, request.top_p),
            "top_k" => out.sampling(name, request.top_k),
            "output_config" if plan.effort.is_some() => {}
            _ => {
                out.name(name);
                request.notes.edits.write(value, &mut out.0);
            }
        }
    }
    if let (Some(thinking), None) = (&plan.thinking, request.fields.get("thinking")) {
        out.field("thinking", thinking);
    }
    if let Some(config) = output_config(request.fields.get("output_config"), plan) {
        out.field("output_config", &config);
    }
    out.close()
}

/// The client's `output_config` with an `effort`, its own if it has one.
fn output_config(given: Option<Raw<'_>>, plan: &Plan<'_>) -> Option<String> {
    let effort = plan.effort?;
    let given: Fields<'_> = given.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let mut out = Object::new(64);
    for (name, value) in given.0.iter().filter(|(_, value)| value.get() != "null") {
        out.field(name, value.get());
    }
    if given.get("effort").is_none() {
        out.field("effort", &quoted(effort));
    }
    Some(out.close())
}

/// The client's that the rules let through, and those its tools need.
fn betas(request: &Request<'_>, inquiry: &TextRequest, rules: &Rules) -> Vec<String> {
    let asked = inquiry.headers.iter().filter(|(name, _)| name == "anthropic-beta");
    let asked = asked.flat_map(|(_, value)| value.split(',')).map(str::trim);
    let passed = asked.filter(|name| rules.betas.iter().any(|known| known == name)).map(str::to_owned);
    let needed = request.tools.iter().filter_map(|tool| match tool {
        Tool::Typed { beta, .. } => beta.clone(),
        Tool::Custom { .. } => None,
    });
    let mut names = Vec::new();
    for name in passed.chain(needed) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// An object in the making.
struct Object(String);

impl Object {
    fn new(size: usize) -> Self {
        let mut text = String::with_capacity(size);
        text.push('{');
        Self(text)
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(name));
        self.0.push(':');
    }

    fn field(&mut self, name: &str, value: &str) {
        self.name(name);
        self.0.push_str(value);
    }

    fn sampling(&mut self, name: &str, value: Option<Raw<'_>>) {
        if let Some(value) = value {
            self.field(name, value.get());
        }
    }

    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
