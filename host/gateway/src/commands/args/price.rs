//! The commands about prices: their options, and the operations they mean.

use clap::Subcommand;
use gatehouse_admin::Operation;
use gatehouse_model::CustomerId;

use super::values::{OutputArgs, read_json};

/// Commands about prices.
#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// Show the prices in effect, by family
    Show(OutputArgs),
    /// Say what a request would cost; makes nothing, and needs no key and no money
    #[command(after_help = "Example:
  gatehouse prices preview /v1/images/generations '{\"model\": \"ctx-pro\", \"prompt\": \"a kite\"}'")]
    Preview {
        /// The path of the endpoint, or its operation, such as images.generate
        #[arg(value_name = "PATH")]
        target: String,
        /// The body, JSON; @FILE reads it from a file
        body: String,
        /// The customer whose tasks and names the body refers to
        #[arg(long)]
        customer: Option<String>,
        /// Price it by this version of the price book
        #[arg(long, value_name = "NUMBER")]
        book: Option<u64>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// List the versions of the price book: since when, by whom, how many prices changed
    History {
        /// At most this many
        #[arg(long, default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show what differs between a version of the price book and the one before
    #[command(after_help = "Example:\n  gatehouse prices history && gatehouse prices diff 7 --against 3")]
    Diff {
        /// Its number
        book: u64,
        /// Another version instead of the one before
        #[arg(long, value_name = "NUMBER")]
        against: Option<u64>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// The operation that a command means, and its form of output.
///
/// # Errors
/// A body that is no JSON or cannot be read, in words.
pub(in crate::commands) fn operation(command: PricesCommand) -> Result<(Operation, OutputArgs), String> {
    Ok(match command {
        PricesCommand::Show(output) => (Operation::Prices, output),
        PricesCommand::Preview { target, body, customer, book, output } => {
            let (body, customer) = (read_json("the body", &body)?, customer.map(CustomerId));
            (Operation::PricePreview { target, body, customer, book }, output)
        }
        PricesCommand::History { limit, output } => (Operation::PriceHistory { limit }, output),
        PricesCommand::Diff { book, against, output } => (Operation::PriceDiff { book, against }, output),
    })
}
