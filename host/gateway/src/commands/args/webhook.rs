//! The commands about webhooks: their options, and the operations they mean.

use clap::Subcommand;
use gatehouse_admin::{EventName, Moment, NewWebhook, Operation, ResendRange, WebhookRequest};
use gatehouse_model::{CustomerId, DeliveryId, WebhookId};

use super::values::OutputArgs;

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
        #[arg(long = "account", visible_alias = "customer", value_name = "CUSTOMER")]
        customer: String,
        /// An event: task.completed, task.failed or task.cancelled; repeat for more [default: all]
        #[arg(long = "event", value_name = "EVENT", value_parser = event)]
        events: Vec<EventName>,
        /// For people
        #[arg(long, default_value = "")]
        description: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// List webhooks
    List {
        /// Only this customer's
        #[arg(long = "account", visible_alias = "customer", value_name = "CUSTOMER")]
        customer: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
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
        #[command(flatten)]
        output: OutputArgs,
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
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// One webhook.
#[derive(Debug, clap::Args)]
pub(crate) struct WebhookArgs {
    /// Its id, we_...
    pub(crate) webhook: WebhookId,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

fn moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text)
}

fn event(text: &str) -> Result<EventName, String> {
    match text {
        "task.completed" => Ok(EventName::Completed),
        "task.failed" => Ok(EventName::Failed),
        "task.cancelled" => Ok(EventName::Cancelled),
        _ => Err("expected task.completed, task.failed or task.cancelled".to_owned()),
    }
}

/// The operation that a command means, and its form of output.
pub(in crate::commands) fn operation(command: WebhookCommand) -> (Operation, OutputArgs) {
    let (request, output) = match command {
        WebhookCommand::Create { url, customer, events, description, output } => {
            (WebhookRequest::Create(NewWebhook { customer, url, events, description }), output)
        }
        WebhookCommand::List { customer, output } => {
            (WebhookRequest::List { customer: customer.map(CustomerId) }, output)
        }
        WebhookCommand::Show(args) => (WebhookRequest::Show(args.webhook), args.output),
        WebhookCommand::Enable(args) => {
            (WebhookRequest::Enable { id: args.webhook, enabled: true }, args.output)
        }
        WebhookCommand::Disable(args) => {
            (WebhookRequest::Enable { id: args.webhook, enabled: false }, args.output)
        }
        WebhookCommand::Rotate(args) => (WebhookRequest::Rotate(args.webhook), args.output),
        WebhookCommand::Retire(args) => (WebhookRequest::Retire(args.webhook), args.output),
        WebhookCommand::Remove(args) => (WebhookRequest::Remove(args.webhook), args.output),
        WebhookCommand::Test(args) => (WebhookRequest::Test(args.webhook), args.output),
        WebhookCommand::Resend { delivery, output } => (WebhookRequest::Resend(delivery), output),
        WebhookCommand::ResendRange { webhook, from, before, delivered, cursor, output } => {
            let range = ResendRange { from, before, delivered, cursor };
            (WebhookRequest::ResendRange { id: webhook, range }, output)
        }
    };
    (Operation::Webhook { request }, output)
}
