//! The commands about webhooks: their options, and the requests they mean.

use clap::Subcommand;
use gatehouse_admin::{ApiRequest, Moment, NewWebhook, ResendRange};
use gatehouse_model::{DeliveryId, WebhookId};
use gatehouse_tasks::WebhookEvent;
use http::header::IF_MATCH;
use serde_json::{Value, json};

use crate::commands::api::{Api, Performed};
use crate::commands::print::{Shown, details, rows_at, table, text_at};

/// Deliveries that are shown with a webhook.
const SHOWN: usize = 20;
const COLUMNS: &[&str] = &[
    "webhook=id",
    "account=customer",
    "enabled",
    "disabled=disabled_reason",
    "waiting=pending",
    "last=last_attempt.status",
    "url",
];
const FIELDS: &[&str] = &[
    "webhook=id",
    "account=customer",
    "made by=made_by",
    "url",
    "events|all",
    "enabled",
    "disabled=disabled_reason",
    "waiting=pending",
    "secret of=secret_created",
    "old until=old_secret_until",
    "delivered=last_success",
    "note=description",
];
const DELIVERY: &[&str] = &[
    "delivery=id",
    "event",
    "task",
    "status",
    "due",
    "attempts=attempts.#",
    "answer=attempts.$.status",
    "problem=attempts.$.problem",
];

/// Commands about webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Make a webhook; its secret is shown once
    #[command(after_help = "Example:
  gatehouse webhook create https://example.com/hook --account alice --event task.completed")]
    Create {
        /// Where events are posted to
        url: String,
        /// Whose tasks it hears of
        #[arg(
            long = "account",
            visible_alias = "customer",
            value_name = "CUSTOMER",
            required_unless_present = "operators"
        )]
        customer: Option<String>,
        /// Nobody's: it hears of providers' accounts and of plugins
        #[arg(long, conflicts_with = "customer")]
        operators: bool,
        /// An event: task.completed, task.failed, task.cancelled, balance.low or quota.reached; with --operators account.down,
        /// account.up or canary.rolled_back; repeat for more [default: all]
        #[arg(long = "event", value_name = "EVENT", value_parser = event)]
        events: Vec<WebhookEvent>,
        /// For people
        #[arg(long, default_value = "")]
        description: String,
    },
    /// List webhooks
    List {
        /// Only this customer's
        #[arg(long = "account", visible_alias = "customer", value_name = "CUSTOMER")]
        customer: Option<String>,
    },
    /// Show one webhook with its last deliveries
    Show(WebhookArgs),
    /// Send events again, also those that wait
    Enable(WebhookArgs),
    /// Send nothing; what waits goes on waiting
    Disable(WebhookArgs),
    /// Make another secret, which is shown once; the one before signs too for 24 hours
    Rotate(WebhookArgs),
    /// End the secret before the last rotation at once
    Retire(WebhookArgs),
    /// Forget a webhook with what waits for it
    Remove(WebhookArgs),
    /// Send an event that only tries it out
    Test(WebhookArgs),
    /// Send an event again under its id, or now instead of later
    Resend {
        /// The delivery, msg_...
        delivery: DeliveryId,
    },
    /// Send the failed events of a webhook again, newest first, at most 500 at a time
    #[command(after_help = "Example:
  gatehouse webhook resend-range we_... --from 2026-11-20T00:00:00Z --before 2026-11-21T00:00:00Z")]
    ResendRange {
        /// The webhook, we_...
        webhook: WebhookId,
        /// Only events from this moment on
        #[arg(long, value_name = "MOMENT", value_parser = moment)]
        from: Option<Moment>,
        /// Only events before this moment
        #[arg(long, value_name = "MOMENT", value_parser = moment)]
        before: Option<Moment>,
        /// Delivered ones too
        #[arg(long)]
        delivered: bool,
        /// Go on where the command before ended
        #[arg(long)]
        cursor: Option<String>,
    },
}

/// One webhook.
#[derive(Debug, clap::Args)]
pub(crate) struct WebhookArgs {
    /// Its id, we_...
    pub(crate) webhook: WebhookId,
}

fn moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text)
}

fn event(text: &str) -> Result<WebhookEvent, String> {
    WebhookEvent::choosable().find(|event| event.as_str() == text).ok_or_else(|| {
        let names: Vec<_> = WebhookEvent::choosable().map(WebhookEvent::as_str).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Does what a command means.
pub(in crate::commands) async fn run(command: WebhookCommand, api: &Api<'_>) -> Performed {
    let of = |id: WebhookId, verb: &str| ApiRequest::post(&["webhooks", &id.to_string(), verb]);
    match command {
        WebhookCommand::Create { url, customer, operators: _, events, description } => {
            let new = NewWebhook { customer, url, events, description };
            api.told(ApiRequest::post(&["webhooks"]).json(&new), with_secret).await
        }
        WebhookCommand::List { customer } => {
            let list = ApiRequest::get(&["webhooks"]).query_if("customer", customer);
            api.rows(list, usize::MAX, COLUMNS).await
        }
        WebhookCommand::Show(args) => show(args.webhook, api).await,
        WebhookCommand::Enable(args) => switch(args.webhook, true, api).await,
        WebhookCommand::Disable(args) => switch(args.webhook, false, api).await,
        WebhookCommand::Rotate(args) => api.told(of(args.webhook, "rotate-secret"), with_secret).await,
        WebhookCommand::Retire(args) => {
            api.send(of(args.webhook, "retire-secret")).await?;
            show(args.webhook, api).await
        }
        WebhookCommand::Remove(WebhookArgs { webhook }) => {
            api.send(ApiRequest::delete(&["webhooks", &webhook.to_string()])).await?;
            Ok(Shown::told(json!({"id": webhook}), format!("removed {webhook}\n")))
        }
        WebhookCommand::Test(args) => api.row(of(args.webhook, "test"), DELIVERY).await,
        WebhookCommand::Resend { delivery } => {
            api.row(ApiRequest::post(&["deliveries", &delivery.to_string(), "resend"]), DELIVERY).await
        }
        WebhookCommand::ResendRange { webhook, from, before, delivered, cursor } => {
            let range = ResendRange { from, before, delivered, cursor };
            api.told(of(webhook, "resend").json(&range), |resent| {
                let more =
                    resent["next"].as_str().map(|cursor| format!("there are more: --cursor {cursor}\n"));
                format!("{} events are sent again\n{}", resent["resent"], more.unwrap_or_default())
            })
            .await
        }
    }
}

async fn switch(id: WebhookId, enabled: bool, api: &Api<'_>) -> Performed {
    let edit = ApiRequest::patch(&["webhooks", &id.to_string()]).header(IF_MATCH, "*");
    api.send(edit.json(&json!({"enabled": enabled}))).await?;
    show(id, api).await
}

/// A webhook with its last deliveries.
async fn show(id: WebhookId, api: &Api<'_>) -> Performed {
    let id = id.to_string();
    let webhook = api.send(ApiRequest::get(&["webhooks", &id])).await?.body;
    let deliveries = ApiRequest::get(&["webhooks", &id, "deliveries"]);
    let deliveries = api.list(deliveries, SHOWN, None).await?;
    let rows = rows_at(&deliveries, "data");
    let text = format!("{}\n{}", details(&webhook, FIELDS), table(rows, DELIVERY));
    Ok(Shown::told(json!({"webhook": webhook, "deliveries": rows}), text))
}

/// A webhook with a new secret.
fn with_secret(made: &Value) -> String {
    let (fields, secret) = (details(&made["webhook"], FIELDS), text_at(made, "secret"));
    format!("{fields}\n{secret}\n\nThis is the secret; it is not shown again.\n")
}
