//! The admin API: its resources, the service behind them, the admin listener, and the client that reaches a running gateway
//! or answers by itself where none runs.
//!
//! Owns the JSON of resources, their checks, the tokens, logins and sessions, the health and
//! metrics pages of the admin listener, and the file that tells commands on the same machine its address. The console's
//! pages are `console`'s; this only serves them. The rules of money and keys stay in
//! `tasks`; the service only sends commands to the store. Never shares a listener with clients. Called by `gateway`.

mod api;
mod client;
mod config;
mod endpoint_file;
mod http;
mod server;
mod service;
mod session;
#[cfg(test)]
mod tests;
mod token;

pub use api::{
    AccountErrorView, AccountHealth, AdoptedReply, AttemptView, BreakerView, Component, DefaultEffect,
    DefaultView, DeliveryStatus, DeliveryView, DeploymentKindView, DeploymentOutcomeView,
    DeploymentStageView, DeploymentView, DoctorReport, DoctorRun, EffectiveView, EventName,
    FamilyDefaultsFile, FamilyPrices, LoginLinkView, NewWebhook, OperationError, PluginOffer, PluginOutcome,
    PluginState, PluginView, PreviewCharge, PreviewUnit, PriceChangeView, PriceChanges, PricePartView,
    PricePreview, PriceVersionDetails, PriceVersionView, PriceView, PricesView, ProviderAccountView,
    ProviderView, ReloadView, ResendRange, ResentRange, Revealed, RulingWord, RunState, StageVerdict,
    StageView, TaskRuling, TokenPrice, UninstalledView, UnitPrice, WaitingView, WebhookPolicyView,
    WebhookView,
};
pub use axum::body::Body as ResponseBody;
pub use client::{ApiAnswer, ApiRefusal, ApiRequest, ClientError, ClientTls, LocalApi, RemoteApi};
pub use config::{AdminClient, AdminTls, Config};
pub use endpoint_file::AdminEndpoint;
pub use gatehouse_driver::{FamilyListing, MediaFile, MediaRefusal, SurfaceListing, ambiguous_exchange};
pub use gatehouse_net::{Certificates, ServedBody, TlsError};
pub use gatehouse_store::{
    AllTasksPage, AllTasksQuery, AuditQuery, DeliveryQuery, KeyQuery, KeyState, RowPage, StatementPage,
    StatementRow, UsagePeriod,
};
pub use gatehouse_tasks::{
    AuditRecord, DeliveryState, EntryKind, ExchangeRecord, HoldId, JournalEntry, MAX_RULING_REASON, StepKind,
    StepRecord, StepRow, UsageSums, WebhookAttempt, WebhookChange, WebhookDelivery, WebhookEndpoint,
    WebhookEvent, WebhookPolicy,
};
pub use http::{Authenticator, Caller, Claimed, Moment, Role, Tokens};
pub use server::{Access, AdminServer, Console, ConsoleRefusal, PageCaller, Probes, StreamEnd, admit};
pub use service::{
    Actor, AdminService, Backend, Configuration, Deployed, ForgottenDefaults, LOG_LEVELS, LogFilter, LogLine,
    Logs, NewKey, Pending, PriceCause, PriceHistory, PublicApi, PublicEndpoint, PublicRefusal, ResultInput,
    StagedDefaults, StatementRequest, StatementSums, StoredStates, TaskDetails, UsageGroup, UsageGroups,
    UsagePiece, UsageReport, UsageRequest, nearest, start_of,
};
pub use session::{LoginLink, LoginRefusal, SessionEnd, SessionView, Sessions};
pub use token::Token;
