//! The types of the contract as the model's types, and back. Shapes only; `exec/answer_rules` decides whether an answer is
//! acceptable.

use gatehouse_model as own;

use super::contract::bindings::exports::gatehouse::family::{jobs, text, views};
use super::contract::bindings::gatehouse::family::{parents, types, upstream};
use super::convert::{Convert, records, variants};

records! {
    // What a family returns.
    jobs::Accepted => own::Accepted { [model, progress, expected_ms, state] charge, stage, brief, doomed }
    jobs::Step => own::Step { [state, progress] stage, view, next }
    jobs::Outcome => own::Outcome { public, private, products, claims, settle }
    jobs::View => own::InterimView { public, private, products }
    jobs::Ending => own::FailedOutcome { failure, public, private, products, claims }
    jobs::Product => own::Product { [source, mime] edit }
    jobs::Tile => own::Tile { [column, row, columns, rows] }
    jobs::Claim => own::Claim { [name, affinity] private }
    jobs::Probe => own::Probe { [source, keep] }
    types::Charge => own::Charge { [keys, quantity] }
    upstream::Call => own::Call {
        [provider, method, timeout_ms, affinity, credentials] target, headers, body, replay, reading, shared
    }
    upstream::Part => own::Part { [name, filename, mime] data }
    upstream::Shared => own::Shared { [key, item] }
    text::Prepared => own::Prepared { [streaming, input_bytes, pictures, max_output_tokens, state] call }
    text::Answered => own::Answered { [output_bytes] body, usage }
    text::Chunk => own::Chunk { [output_bytes, last] send, usage }
    text::Usage => own::Usage { [input, output, cached, cache_write, cache_write_hour] }
    text::TextFailure => own::TextFailure { [message, field] obstacle }
    // What the host passes.
    own::Claim => parents::Owned { [name, affinity] private }
    own::Finding => jobs::Finding { [source] found }
    own::TaskView => views::TaskView { [progress, cost] task, created, ended, failure }
    // Both ways.
    types::Failure => own::Failure { [message] blame }
    own::Failure => types::Failure { [message] blame }
    upstream::Header => own::Header { [name, value] }
    own::Header => upstream::Header { [name, value] }
    upstream::Reply => own::Reply { [status, affinity] headers, body }
    own::Reply => upstream::Reply { [status, affinity] headers, body }
    text::Sse => own::Sse { [event, data] }
    own::Sse => text::Sse { [event, data] }
    types::Facts => own::Facts {
        [mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob] kind
    }
    own::Facts => types::Facts {
        [mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob] kind
    }
}

variants! {
    // What a family returns.
    jobs::Action => own::Action { Call(call), Probe(probes), Wait(until), Done(end), Fail(end) }
    jobs::Stage => own::Stage { Submitted, Pending, Processing }
    upstream::Target => own::Target { Path(path), Url(url) }
    upstream::Replay => own::Replay { Safe, Token, Once }
    upstream::Reading => own::Reading { Whole, Saved, Cut }
    text::Obstacle => own::Obstacle { Invalid, NotFound, TooLarge, TooLong, RateLimited, Account, Upstream }
    // What the host passes.
    own::Cause => jobs::Cause { Client, Deadline }
    own::Outage => upstream::Outage { Unreachable, Timeout, Broken, TooLarge, Refused }
    // Both ways.
    types::Blame => own::Blame { Request, Moderation, Upstream, Account }
    own::Blame => types::Blame { Request, Moderation, Upstream, Account }
    types::MediaKind => own::MediaKind { Image, Video, Audio, Other }
    own::MediaKind => types::MediaKind { Image, Video, Audio, Other }
    parents::Status => own::Status { Submitted, Pending, Processing, Completed, Failed }
    own::Status => parents::Status { Submitted, Pending, Processing, Completed, Failed }
    upstream::Bytes => own::Body { Inline(bytes), Blob(id) }
    own::Body => upstream::Bytes { Inline(bytes), Blob(id) }
}

impl Convert<own::Refusal> for types::Refusal {
    fn convert(self) -> own::Refusal {
        match self {
            Self::Invalid((field, message)) => own::Refusal::Invalid { field, message },
            Self::NotFound(what) => own::Refusal::NotFound(what),
            Self::Forbidden(what) => own::Refusal::Forbidden(what),
        }
    }
}

impl Convert<own::Payload> for upstream::Payload {
    fn convert(self) -> own::Payload {
        match self {
            Self::None => own::Payload::None,
            Self::Json(json) => own::Payload::Json(json.convert()),
            Self::Raw(raw) => own::Payload::Raw { mime: raw.mime, data: raw.data.convert() },
            Self::Form(parts) => own::Payload::Form(parts.convert()),
        }
    }
}

impl Convert<own::Edit> for jobs::Edit {
    fn convert(self) -> own::Edit {
        match self {
            Self::Tile(tile) => own::Edit::Tile(tile.convert()),
            Self::Clip(jobs::Clip { from, to }) => own::Edit::Clip(own::Clip { from_ms: from, to_ms: to }),
        }
    }
}

impl Convert<jobs::Event> for own::Event {
    fn convert(self) -> jobs::Event {
        match self {
            Self::Start(brief) => jobs::Event::Start(brief.convert()),
            Self::Joined(brief) => jobs::Event::Joined(brief.convert()),
            Self::Reply(reply) => jobs::Event::Reply(reply.convert()),
            Self::Outage(why) => jobs::Event::Outage(why.convert()),
            Self::Probed(found) => jobs::Event::Probed(found.convert()),
            Self::Timer => jobs::Event::Timer,
            Self::Cancel(cause) => jobs::Event::Cancel(cause.convert()),
            Self::Lost { source, reason } => jobs::Event::Lost((source, reason)),
        }
    }
}

impl Convert<parents::Parent> for own::Parent {
    fn convert(self) -> parents::Parent {
        parents::Parent {
            task_id: self.task.to_string(),
            family: self.family,
            model: self.model,
            status: self.status.convert(),
            public: self.public.convert(),
            private: self.private.convert(),
            media: self.media.convert(),
            affinity: self.affinity,
            joining: self.joining.convert(),
        }
    }
}
