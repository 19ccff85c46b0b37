//! Options of `account`, and the requests they mean.

use clap::{Args, Subcommand};
use gatehouse_admin::ApiRequest;
use gatehouse_model::Credits;
use serde_json::json;

use super::values::{OutputArgs, Performed};
use crate::commands::api::Api;
use crate::commands::print::{Shown, table};

const FIELDS: &[&str] = &["account=id", "available_micro", "held_micro", "spent_micro", "deposited_micro"];

/// Commands about customers.
#[derive(Debug, Subcommand)]
pub(crate) enum CustomerCommand {
    /// Open a customer account without credit
    #[command(after_help = "Example:\n  gatehouse account open alice && gatehouse account deposit alice 100")]
    Open {
        /// Its new id
        customer: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// List customers
    List(OutputArgs),
    /// Show one customer
    Show {
        /// Its id
        customer: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Deposit credits
    Deposit(AmountArgs),
    /// Withdraw available credits
    Withdraw(AmountArgs),
}

/// Credits in or out.
#[derive(Debug, Args)]
pub(crate) struct AmountArgs {
    /// The customer's id
    pub(crate) customer: String,
    /// Credits, with at most six decimals
    pub(crate) amount: Credits,
    /// A note for the ledger
    #[arg(long, default_value = "")]
    pub(crate) memo: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Does what a command about customers means.
pub(in crate::commands) async fn run(command: CustomerCommand, api: &Api<'_>) -> Performed {
    let (shown, output) = match command {
        CustomerCommand::Open { customer, output } => {
            let open = ApiRequest::post(&["customers"]).json(&json!({"id": customer}));
            (Shown::row(api.send(open).await?.body, FIELDS), output)
        }
        CustomerCommand::List(output) => {
            let all = api.list(ApiRequest::get(&["customers"]), usize::MAX, None).await?;
            (Shown::list(all, FIELDS), output)
        }
        CustomerCommand::Show { customer, output } => {
            let found = api.send(ApiRequest::get(&["customers", &customer])).await?.body;
            (Shown::row(found, FIELDS), output)
        }
        CustomerCommand::Deposit(args) => return move_money(args, "deposits", api).await,
        CustomerCommand::Withdraw(args) => return move_money(args, "withdrawals", api).await,
    };
    Ok((shown, output))
}

async fn move_money(args: AmountArgs, way: &str, api: &Api<'_>) -> Performed {
    let AmountArgs { customer, amount, memo, output } = args;
    let body = json!({"amount_micro": amount.0, "memo": memo});
    let moved = api.send(ApiRequest::post(&["customers", &customer, way]).json(&body)).await?.body;
    let text = table(std::slice::from_ref(&moved["customer"]), FIELDS);
    Ok((Shown::told(moved, text), output))
}
