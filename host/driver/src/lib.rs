//! The driver turns a request into a durable task, takes each task through its steps, serves text requests,
//! sends what webhooks are told, recovers live tasks at a start, and shuts down without losing work.
//!
//! It owns submission, the scheduler, the step protocol (run, commit, call, commit), text requests, recovery and
//! shutdown. It is the only crate that joins store, runtime, upstream and media. It never parses HTTP and never
//! chooses a status code (`edge` does), and it never decides what is true of a task (`tasks` does).
//! `edge` and `admin` call it.

mod api;
mod body;
mod config;
mod detached;
mod direct;
mod disks;
mod driver;
mod errors;
mod in_progress;
mod kept_answers;
mod live;
mod memory;
mod models;
mod money;
mod own_webhooks;
mod process;
mod rates;
mod read;
mod request_report;
mod scheduler;
mod served;
mod shared;
mod step;
mod store_pause;
mod submit;
mod text;
mod waiting_files;
mod webhook_secret;
mod webhooks;

pub use api::{
    ChargeUnit, DryRun, DryRunCharge, ListedPrice, Modality, ModelFacts, ModelListing, PriceBasis, Receipt,
    SubmitRequest, TargetBasis, ViewRequest, parent_kind,
};
pub use body::CheckedBody;
pub use config::{Config, PreparedTables, PriceVariantConfig, TextConfig, check_price_variants};
pub use direct::{AnswerPieces, AnswerRequest, AnswerResponse, Answers, WholeAnswer};
pub use disks::{Disk, DiskSpace, mark as disk_mark};
pub use driver::{Driver, Parts, Recovery};
pub use errors::{CancelError, RulingError, StartError, SubmitError, ViewError, WebhookError};
pub use gatehouse_media::{MediaFile, MediaRefusal};
pub use gatehouse_runtime::ServedRoute;
pub use gatehouse_store::{
    StoreError, TaskPage, TaskQuery as TaskFilter, UsagePosition, UsageRow, UsageRows,
};
pub use gatehouse_tasks::{
    DeliveryState, QuotaExceeded, QuotaOwner, SealedSecret, UsageSums, WebhookAttempt, WebhookDelivery,
    WebhookEndpoint, WebhookEvent, WebhookPolicy,
};
pub use gatehouse_upstream::{
    AccountError, AccountOverview, BreakerState, ProviderOverview, QueueEstimate, check_post_url,
};
pub use memory::{MemoryShortage, RequestMemory};
pub use models::{ModelConfig, ModelKind, PassPrice, TargetConfig, TokenPrices, check_models};
pub use own_webhooks::{
    ChangedWebhook, OwnWebhooks, TaskCallback, WebhookAction, WebhookPatch, WebhookRequest,
};
pub use process::Process;
pub use rates::{LimitKind, LimitStatus, RateLimited, RateStatus};
pub use read::{
    Balances, Files, FollowedTask, Funds, Keys, ModelPrices, Models, PriceList, Tasks, UsageFilter,
    VariantPrices, Waiting,
};
pub use request_report::RequestReport;
pub use step::cancel::{Cancelled, Cancels};
pub use step::reconcile::{CallRuling, PreparedRuling, Rulings, ambiguous_exchange};
pub use submit::submission::Intake;
pub use text::{
    CompletionRequest, CompletionResponse, Conversations, KeptResponse, TextError, TextStream, Texts,
};
pub use webhook_secret::{UnreadableSecret, WebhookSecret};

#[cfg(test)]
mod tests;
