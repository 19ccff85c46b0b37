//! Between the SDK's types and the host's. Types with one shape on both sides (calls, replies, facts, charges)
//! are converted through their common serde form; only types that differ are converted by hand.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model as host;
use gatehouse_sdk::{
    Accepted, Action, Answered, Call, Charge, Chunk, Claim, Context, DialectPrepared, DialectRequest,
    DirectRequest, Ending, Event, Exchange, Extra, Line, Outcome, Owned, Parent, Payload, Plan, Prepared,
    Product, Protocol, Raw, Refusal, Reply, Response, Status, Step, Submission, TaskView, TextRequest,
    UnixMs, Usage, View,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A type of the other side with the same shape.
pub(crate) fn same_shape<T: Serialize, U: DeserializeOwned>(value: &T) -> U {
    let value = serde_json::to_value(value).expect("a type of the contract always serializes");
    serde_json::from_value(value).expect("the host's type has the shape of the contract's")
}

fn write(value: &Value) -> host::Json {
    value.to_string().into()
}

/// The host has checked that it is JSON.
pub(crate) fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("the host returns JSON only")
}

fn task(id: &str) -> Result<host::TaskId, String> {
    id.parse().map_err(|_| format!("expected a task id, as task_01KDWFAMDV000000000000000B, got {id:?}"))
}

pub(crate) fn context(cx: &Context) -> Result<host::Context, String> {
    Ok(host::Context {
        now: host::UnixMs(cx.now.0),
        seed: cx.seed,
        task: cx.task.as_deref().map(task).transpose()?,
        accepted_at: host::UnixMs(cx.accepted_at.0),
        deadline: host::UnixMs(cx.deadline.0),
        customer: cx.customer.clone(),
        settings: Arc::from(cx.settings.to_string()),
    })
}

fn parent(parent: &Parent) -> Result<host::Parent, String> {
    Ok(host::Parent {
        task: task(&parent.task)?,
        family: parent.family.clone(),
        model: parent.model.clone(),
        status: match parent.status {
            Status::Submitted => host::Status::Submitted,
            Status::Pending => host::Status::Pending,
            Status::Processing => host::Status::Processing,
            Status::Completed => host::Status::Completed,
            Status::Failed => host::Status::Failed,
        },
        public: write(&parent.public),
        private: write(&parent.private),
        media: same_shape(&parent.media),
        affinity: parent.affinity.clone(),
        joining: parent.joining.iter().cloned().map(Into::into).collect(),
    })
}

pub(crate) fn submission(request: &Submission) -> Result<host::Submission, String> {
    let owned = |owned: &Owned| host::OwnedName {
        name: owned.name.clone(),
        private: write(&owned.private),
        affinity: owned.affinity.clone(),
    };
    Ok(host::Submission {
        surface: request.surface.clone(),
        model: request.model.clone(),
        body: write(&request.body),
        parents: request.parents.iter().map(parent).collect::<Result<_, _>>()?,
        owned: request.owned.iter().map(owned).collect(),
        blobs: same_shape(&request.blobs),
    })
}

pub(crate) fn event(event: &Event) -> Result<host::Event, String> {
    Ok(match event {
        // The host stores no brief in an event.
        Event::Start(brief) => host::Event::Start(brief.clone().into()),
        Event::Joined(brief) => host::Event::Joined(brief.clone().into()),
        Event::Lost((source, reason)) => host::Event::Lost { source: source.clone(), reason: reason.clone() },
        Event::Other(_) => return Err("expected an event that the host sends, got `other`".to_owned()),
        other => same_shape(other),
    })
}

pub(crate) fn task_view(view: &TaskView) -> Result<host::TaskView, String> {
    Ok(host::TaskView {
        task: parent(&view.task)?,
        progress: view.progress,
        created: host::UnixMs(view.created.0),
        ended: view.ended.map(|at| host::UnixMs(at.0)),
        failure: same_shape(&view.failure),
        cost: view.cost.clone(),
    })
}

pub(crate) fn accepted(accepted: host::Accepted) -> Accepted<Vec<u8>> {
    Accepted {
        model: accepted.model,
        charge: charge(accepted.charge),
        at_most: Some(charge(accepted.at_most)).filter(|most| !most.lines.is_empty()),
        stage: same_shape(&accepted.stage),
        progress: accepted.progress,
        expected: accepted.expected_ms.map(|ms| Duration::from_millis(ms.into())),
        state: accepted.doomed.is_none().then_some(accepted.state),
        brief: accepted.brief.into(),
        doomed: same_shape(&accepted.doomed),
        extra: Extra::new(),
    }
}

fn charge(charge: host::Charge) -> Charge {
    let line = |host::Line { keys, quantity, unit }| Line { keys, quantity, unit };
    Charge { lines: charge.0.into_iter().map(line).collect() }
}

pub(crate) fn refusal(refusal: host::Refusal) -> Refusal {
    match refusal {
        host::Refusal::Invalid { field, message } => Refusal::Invalid { field, message },
        host::Refusal::NotFound(message) => Refusal::NotFound(message),
        host::Refusal::Forbidden(message) => Refusal::Forbidden(message),
    }
}

pub(crate) fn step(step: host::Step) -> Step<Vec<u8>> {
    let next = match step.next {
        host::Action::Call(next) => Action::Call(call(next)),
        host::Action::Probe(probes) => Action::Probe(same_shape(&probes)),
        host::Action::Wait(moment) => Action::Wait(UnixMs(moment.0)),
        host::Action::Done(outcome) => Action::Done(Outcome {
            public: read(&outcome.public),
            private: read(&outcome.private),
            products: products(outcome.products),
            claims: claims(outcome.claims),
            settle: outcome.settle.map(charge),
            extra: Extra::new(),
        }),
        host::Action::Fail(ending) => Action::Fail(Ending {
            failure: same_shape(&ending.failure),
            public: ending.public.as_deref().map(read),
            private: ending.private.as_deref().map(read),
            products: products(ending.products),
            claims: claims(ending.claims),
            extra: Extra::new(),
        }),
    };
    let view = step.view.map(|view| View {
        public: read(&view.public),
        private: read(&view.private),
        products: products(view.products),
        extra: Extra::new(),
    });
    let stage = same_shape(&step.stage);
    Step { state: step.state, stage, progress: step.progress, view, next, extra: Extra::new() }
}

fn claims(claims: Vec<host::Claim>) -> Vec<Claim> {
    let claim = |claim: host::Claim| Claim {
        name: claim.name,
        private: read(&claim.private),
        affinity: claim.affinity,
    };
    claims.into_iter().map(claim).collect()
}

fn products(products: Vec<host::Product>) -> Vec<Product> {
    let product = |product: host::Product| Product {
        source: product.source,
        mime: product.mime,
        edit: product.edit,
        extra: Extra::new(),
    };
    products.into_iter().map(product).collect()
}

pub(crate) fn call(call: host::Call) -> Call {
    let text = |body: bytes::Bytes| String::from_utf8(body.into()).expect("the host checks that it is JSON");
    Call {
        provider: call.provider,
        affinity: call.affinity,
        method: call.method,
        target: same_shape(&call.target),
        headers: same_shape(&call.headers),
        body: match call.body {
            host::Payload::None => Payload::None,
            host::Payload::Json(body) => Payload::Json(text(body)),
            host::Payload::Form(parts) => Payload::Form(same_shape(&parts)),
            host::Payload::Raw { mime, data } => Payload::Raw(Raw { mime, data: same_shape(&data) }),
        },
        timeout_ms: call.timeout_ms,
        replay: same_shape(&call.replay),
        reading: same_shape(&call.reading),
        credentials: call.credentials,
        shared: same_shape(&call.shared),
        extra: String::new(),
    }
}

pub(crate) fn text_request(request: &TextRequest) -> host::TextRequest {
    let header = |(name, value): &(String, String)| host::Header { name: name.clone(), value: value.clone() };
    host::TextRequest {
        surface: request.surface.clone(),
        body: request.body.as_str().into(),
        headers: request.headers.iter().map(header).collect(),
        blobs: same_shape(&request.blobs),
        route: host::TextRoute {
            model: request.route.model.clone(),
            upstream: request.route.upstream.clone(),
            provider: request.route.provider.clone(),
            protocol: match request.route.protocol {
                Protocol::Messages => host::Protocol::Messages,
                Protocol::Chat => host::Protocol::Chat,
            },
            rules: request.route.rules.to_string().into(),
        },
    }
}

pub(crate) fn prepared(prepared: host::Prepared) -> Prepared<Vec<u8>> {
    Prepared {
        call: call(prepared.call),
        streaming: prepared.streaming,
        input_bytes: prepared.input_bytes,
        pictures: prepared.pictures,
        max_output_tokens: prepared.max_output_tokens,
        state: prepared.state,
        extra: Extra::new(),
    }
}

pub(crate) fn dialect_request(request: &DialectRequest) -> host::DialectRequest {
    host::DialectRequest {
        body: request.body.as_str().into(),
        streaming: request.streaming,
        blobs: same_shape(&request.blobs),
        route: host::TextRoute {
            model: request.model.clone(),
            upstream: request.upstream.clone(),
            provider: request.provider.clone(),
            protocol: host::Protocol::Dialect(request.dialect.as_str().into()),
            rules: request.rules.to_string().into(),
        },
    }
}

pub(crate) fn translated(prepared: host::DialectPrepared) -> DialectPrepared<Vec<u8>> {
    DialectPrepared::new(call(prepared.call), prepared.framing, prepared.state)
}

pub(crate) fn direct_request(request: &DirectRequest) -> host::DirectRequest {
    host::DirectRequest {
        surface: request.surface.clone(),
        model: request.model.clone(),
        body: write(&request.body),
        blobs: same_shape(&request.blobs),
    }
}

pub(crate) fn plan(plan: host::DirectPlan) -> Plan<Vec<u8>> {
    match plan {
        host::DirectPlan::Call(exchange) => {
            let host::Exchange { call: next, charge: bill, at_most, passes, state } = *exchange;
            Plan::Call(Exchange {
                call: call(next),
                charge: bill.map(charge),
                at_most: Some(charge(at_most)).filter(|most| !most.lines.is_empty()),
                passes,
                state,
                extra: Extra::new(),
            })
        }
        host::DirectPlan::Respond(answer) => Plan::Respond(response(answer)),
    }
}

pub(crate) fn response(response: host::DirectResponse) -> Response {
    let host::DirectResponse { mime, body, settle, fresh_s } = response;
    Response { mime, body: body.into(), settle: settle.map(charge), fresh_s, extra: Extra::new() }
}

pub(crate) fn answered(answered: host::Answered) -> Answered {
    Answered {
        body: answered.body.into(),
        usage: answered.usage.map(|all| usage(all, &answered.counters)),
        counters: answered.counters,
        output_bytes: answered.output_bytes,
        extra: Extra::new(),
    }
}

pub(crate) fn chunk(chunk: host::Chunk) -> Chunk {
    Chunk {
        send: same_shape(&chunk.send),
        usage: chunk.usage.map(|all| usage(all, &chunk.counters)),
        counters: chunk.counters,
        output_bytes: chunk.output_bytes,
        last: chunk.last,
        extra: Extra::new(),
    }
}

/// The counts as the family told them: the host adds a counter to the tokens that its name begins with.
fn usage(all: host::Usage, counters: &[(String, u64)]) -> Usage {
    let host::Usage { input, output, cached, cache_write, cache_write_hour } = all;
    let mut told = Usage { input, output, cached, cache_write, cache_write_hour };
    for (name, count) in counters {
        let begins = |tokens: &str| name.strip_prefix(tokens).is_some_and(|rest| rest.starts_with('-'));
        let tokens = match () {
            () if begins("input") => &mut told.input,
            () if begins("output") => &mut told.output,
            () if begins("cached") => &mut told.cached,
            () => continue,
        };
        *tokens = tokens.saturating_sub(*count);
    }
    told
}

pub(crate) fn reply(reply: host::Reply) -> Reply {
    Reply {
        status: reply.status,
        headers: same_shape(&reply.headers),
        body: same_shape(&reply.body),
        affinity: reply.affinity,
        extra: String::new(),
    }
}
