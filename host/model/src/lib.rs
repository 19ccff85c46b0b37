//! Plain data that every crate shares.
//!
//! Owns the shapes (ids, money, time, tasks, keys, the host's side of the plugin contract) and the rules
//! that belong to a shape alone (an id's form, checked arithmetic, an API key's checksum).
//! Never does I/O, never reads a clock or a random source (both come in behind [`Clock`] and [`Seed`]),
//! never knows HTTP, redb or wasmtime. Every crate may depend on it; it depends on the contract's documents alone.

mod apikey;
mod contract;
mod control_text;
mod conversation;
mod credits;
mod customer;
mod declare;
mod digest;
mod ids;
mod json_text;
mod key;
mod listing;
pub mod metric;
mod money;
mod price;
mod quota;
mod recent;
mod secret;
mod span;
mod status;
mod tags;
mod task;
mod time;
mod trace;

pub use apikey::{ApiKey, KeyDigest, MalformedKey, Pepper};
pub use contract::call::{
    Affinity, Body, Call, Header, Outage, Part, Payload, Reading, Replay, Reply, Shared, Target,
};
pub use contract::charge::{Charge, Line, Terms};
pub use contract::direct::{DirectPlan, DirectRequest, DirectResponse, Exchange};
pub use contract::facts::{Facts, MediaKind};
pub use contract::form::{FormFields, FormTypes, FormValue};
pub use contract::json::Json;
pub use contract::names::{Claim, OwnedName, Parent, TaskView};
pub use contract::task_contract::{
    Accepted, Action, Blame, Cause, Context, Event, FailedOutcome, Failure, Finding, InterimView, Outcome,
    Probe, Product, Refusal, Stage, Step, Submission,
};
pub use contract::text::{
    Answered, Chunk, DialectPrepared, DialectRequest, Obstacle, Prepared, Protocol, Sse, TextFailure,
    TextRequest, TextRoute, Usage,
};
pub use control_text::{escape_control, escape_control_in_json};
pub use conversation::Conversation;
pub use credits::Credits;
pub use customer::{Customer, CustomerPolicy, LedgerHead};
pub use declare::wrong_word;
pub use digest::{Digest, Digester};
pub use gatehouse_contract::{
    About, Clip, Edit, Framing, HttpRoute as RouteInfo, MAX_WORDS, Model as ModelInfo, ModelName, NameAt,
    Offers, ParentAt, ParentWritten, Receipt as ReceiptShape, RouteMethod, RouteUse, SelfTest,
    Surface as SurfaceInfo, Tile, Verdict, check_path, is_below, is_kebab_case, path_parameter,
    paths_overlap, specified_routes,
};
pub use ids::{BlobId, BrokenId, CustomerId, DeliveryId, KeyId, MediaId, RequestId, Seed, TaskId, WebhookId};
pub use json_text::{UnreadableJson, check_json_text};
pub use key::{ChatFormat, Gcra, Key, KeyPolicy, Limits, RateVerdict};
pub use listing::{FamilyListing, SurfaceListing};
pub use money::Purpose;
pub use price::{PER, Price};
pub use quota::{PeriodUnit, PeriodUse, QuotaPeriod, QuotaUse};
pub use recent::{ProcessLine, Recent, RecentPage, RequestFacts, RequestLine};
pub use secret::{Secret, SecretRef};
pub use span::{EndedSpan, Span, SpanKind, SpanSink, SpanValue, Trace, Tracer};
pub use status::Status;
pub use tags::Tags;
pub use task::{AccountAssignment, FailureKind, JoinedRequest, Media, Phase, Task, TaskFailure};
pub use time::{Boxed, Clock, ForwardSteps, Pause, UnixMs};
pub use trace::{NoTraceParent, TraceParent};
