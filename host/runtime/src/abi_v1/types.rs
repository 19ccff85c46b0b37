//! The types of the contract with one shape as the model's types, and back: a row for each. `answers` has those that may say
//! what this host does not know; `exec/answer_rules` decides whether an answer is acceptable.

use bytes::Bytes;
use gatehouse_model as own;
use gatehouse_model::{Json, UnixMs};

use super::exports::bindings::exports::gatehouse::family::{jobs, views};
use super::exports::bindings::gatehouse::family::{parents, types, upstream};

/// What this host says beyond the fields of a record: nothing. In tests it says what a later host may, which every component has
/// to ignore.
pub(super) const EXTRA: &str = if cfg!(test) { r#"{"later": {"x": 1}}"# } else { "" };

/// A value as the other side's type.
pub(super) trait Convert<T> {
    fn convert(self) -> T;
}

impl<T: Convert<U>, U> Convert<Vec<U>> for Vec<T> {
    fn convert(self) -> Vec<U> {
        self.into_iter().map(Convert::convert).collect()
    }
}

impl<T: Convert<U>, U> Convert<Option<U>> for Option<T> {
    fn convert(self) -> Option<U> {
        self.map(Convert::convert)
    }
}

impl<T: Convert<U>, U, E: Convert<F>, F> Convert<Result<U, F>> for Result<T, E> {
    fn convert(self) -> Result<U, F> {
        self.map(Convert::convert).map_err(Convert::convert)
    }
}

/// Types of which both sides have their own, each with a conversion in `std`'s sense.
macro_rules! primitives {
    ($($from:ty => $to:ty),+ $(,)?) => {$(
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                self.into()
            }
        }
    )+};
}

primitives! {
    String => String,
    String => Json,
    Json => String,
    String => Bytes,
    Vec<u8> => Bytes,
    Bytes => Vec<u8>,
}

impl Convert<UnixMs> for u64 {
    fn convert(self) -> UnixMs {
        UnixMs(self)
    }
}

impl Convert<u64> for UnixMs {
    fn convert(self) -> u64 {
        self.0
    }
}

/// Records with the same fields: those in brackets have the same types, the others are converted.
macro_rules! records {
    ($($from:path => $to:path { $([$($same:ident),+])? $($other:ident),* })+) => {$(
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                let Self { $($($same,)+)? $($other,)* } = self;
                To { $($($same,)+)? $($other: $other.convert(),)* }
            }
        }
    )+};
}

/// Variants with the same cases and converted values.
macro_rules! variants {
    ($($from:path => $to:path { $($case:ident $(($value:ident))?),+ })+) => {$(
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                match self {
                    $(Self::$case $(($value))? => To::$case $(($value.convert()))?,)+
                }
            }
        }
    )+};
}

records! {
    // What a family returns.
    jobs::Claim => own::Claim { [name, affinity] private }
    jobs::Probe => own::Probe { [source, keep] }
    upstream::Part => own::Part { [name, filename, mime] data }
    upstream::Shared => own::Shared { [key, item] }
    upstream::TextFailure => own::TextFailure { [message, field, retry_after_ms] obstacle }
    // What the host passes.
    own::Claim => parents::Owned { [name, affinity] private }
    own::Finding => jobs::Finding { [source] found }
    own::TaskView => views::TaskView { [progress, cost] task, created, ended, failure }
    // Both ways.
    types::Failure => own::Failure { [message] blame }
    own::Failure => types::Failure { [message] blame }
    upstream::Header => own::Header { [name, value] }
    own::Header => upstream::Header { [name, value] }
    upstream::Sse => own::Sse { [event, data] }
    own::Sse => upstream::Sse { [event, data] }
    types::Facts => own::Facts {
        [mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob] kind
    }
    own::Facts => types::Facts {
        [mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob] kind
    }
}

variants! {
    // What a family returns.
    jobs::Stage => own::Stage { Submitted, Pending, Processing }
    upstream::Target => own::Target { Path(path), Url(url) }
    upstream::Replay => own::Replay { Safe, Token, Once }
    upstream::Reading => own::Reading { Whole, Saved, Cut }
    upstream::Obstacle => own::Obstacle { Invalid, NotFound, TooLarge, TooLong, RateLimited, Account, Upstream }
    // What the host passes.
    own::Cause => jobs::Cause { Client, Deadline }
    own::Outage => upstream::Outage { Unreachable, Timeout, Broken, TooLarge, Refused }
    // Both ways.
    types::Blame => own::Blame { Request, Moderation, Cancelled, Limit, Timeout, Upstream, Account }
    own::Blame => types::Blame { Request, Moderation, Cancelled, Limit, Timeout, Upstream, Account }
    types::MediaKind => own::MediaKind { Image, Video, Audio, Other }
    own::MediaKind => types::MediaKind { Image, Video, Audio, Other }
    parents::Status => own::Status { Submitted, Pending, Processing, Completed, Failed }
    own::Status => parents::Status { Submitted, Pending, Processing, Completed, Failed }
    upstream::Bytes => own::Body { Inline(bytes), Blob(id) }
    own::Body => upstream::Bytes { Inline(bytes), Blob(id) }
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

impl Convert<upstream::Reply> for own::Reply {
    fn convert(self) -> upstream::Reply {
        upstream::Reply {
            status: self.status,
            headers: self.headers.convert(),
            body: self.body.convert(),
            affinity: self.affinity,
            extra: EXTRA.to_owned(),
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
