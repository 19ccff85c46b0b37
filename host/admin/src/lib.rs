//! The admin API: its resources, the service behind them, the admin listener, and the client that reaches a running gateway
//! or answers by itself where none runs.
//!
//! Owns the JSON of resources, their checks, the tokens, logins and sessions, the health and
//! metrics pages of the admin listener, and the file that tells commands on the same machine its address. The console's
//! pages are `console`'s; this only serves them. The rules of money and keys stay in
//! `tasks`; the service only sends commands to the store. Never shares a listener with clients. Called by `gateway`.

mod access;
mod api;
mod audit;
mod client;
mod config;
mod endpoint_file;
mod error;
mod http;
mod oidc;
mod reply;
mod server;
mod service;
mod session;
#[cfg(test)]
mod tests;

pub use access::{Caller, Role, Token, Tokens};
pub use api::{
    AccountHealth, AdoptedReply, BackupView, Component, DefaultEffect, DefaultView, EffectiveView,
    FamilyDefaultsFile, FleetView, Moment, NewWebhook, NodeRole, NodeView, OperationError, PluginOffer,
    PluginVersion, ProviderView, ReloadView, ResendRange, Revealed, RulingWord, TaskRuling,
};
pub use axum::body::Body as ResponseBody;
pub use client::{ApiAnswer, ApiRefusal, ApiRequest, ClientError, LocalApi, RemoteApi};
pub use config::{AdminClient, AdminTls, Config};
pub use endpoint_file::{AdminEndpoint, EndpointOf};
pub use gatehouse_driver::{MediaFile, MediaRefusal, ambiguous_exchange};
pub use gatehouse_net::{Certificates, ServedBody, TlsError};
pub use gatehouse_store::{AuditQuery, KeyQuery, KeyState, StoreError, UsagePeriod};
pub use gatehouse_tasks::{
    AuditRecord, DeliveryState, EntryKind, ExchangeRecord, JournalEntry, StepKind, StepRecord, StepRow,
    UsageSums, WebhookAttempt, WebhookDelivery, WebhookEndpoint,
};
pub use http::{IDEMPOTENCY_KEY, is_of_type, key_limits};
pub use oidc::{IdentityProvider, OidcConfig};
pub use server::{
    Access, AdminServer, Console, ConsoleRefusal, MetricsPage, PageCaller, Probes, STANDBY, Waiting,
    WaitingServer, admit,
};
pub use service::{
    AdminParts, AdminService, Backend, BackupProgress, Backups, Configuration, Deployed, ForgottenDefaults,
    Logs, Pending, PriceCause, PriceHistory, PublicApi, PublicEndpoint, PublicRefusal, ResultInput,
    StagedDefaults, StoredStates, TaskDetails, UsageGroup, UsageGroups, UsageReport, UsageRequest, nearest,
};
pub use session::{SessionView, Sessions};
