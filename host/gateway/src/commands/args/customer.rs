//! Options of `account`, and the requests they mean.

use clap::{Args, Subcommand};
use gatehouse_admin::ApiRequest;
use gatehouse_model::{Credits, escape_control_in_json};
use http::header::IF_MATCH;
use serde_json::{Value, json};

use super::values::{OrNone, PeriodArgs, given, quota_patch};
use crate::commands::api::{Api, ExecuteError, PAGE, Performed};
use crate::commands::print::{Shown, rows_at, table};
use crate::terminal::{Exit, print};

const FIELDS: &[&str] = &[
    "account=id",
    "available_micro",
    "held_micro",
    "spent_micro",
    "deposited_micro",
    "quota_micro|none",
    "per=quota_period|never",
    "quota_used_micro|none",
    "resets=quota_resets|never",
    "low_balance_micro|none",
    "alert at=quota_alert_percent|none",
    "prices=price_variant|the book's",
];

/// Commands about customers.
#[derive(Debug, Subcommand)]
pub(crate) enum CustomerCommand {
    /// Open a customer account without credit
    #[command(after_help = "Example:\n  gatehouse account open alice && gatehouse account deposit alice 100")]
    Open {
        /// Its new id
        customer: String,
        /// Credits all its keys may spend together, in all or in each period [default: its balance]
        #[arg(long, value_name = "CREDITS")]
        quota: Option<Credits>,
        #[command(flatten)]
        period: PeriodArgs,
        /// The variant of the price book that its requests are priced by [default: the book itself]
        #[arg(long, value_name = "VARIANT")]
        prices: Option<String>,
    },
    /// Change what a customer may spend and pays; what is not named stays
    #[command(after_help = "Example:\n  gatehouse account edit alice --quota 20 --per month --offset +02:00")]
    Edit {
        /// Its id
        customer: String,
        /// Credits all its keys may spend together, or none for no limit but its balance; what is used stays used
        #[arg(long, value_name = "CREDITS|none")]
        quota: Option<OrNone<Credits>>,
        #[command(flatten)]
        period: PeriodArgs,
        /// Tell its webhooks (balance.low) once what it has not spent falls below this
        #[arg(long, value_name = "CREDITS|none")]
        low_balance: Option<OrNone<Credits>>,
        /// Tell its webhooks (quota.reached) once so much of its quota is used
        #[arg(long, value_name = "PERCENT|none")]
        quota_alert: Option<OrNone<u8>>,
        /// The variant of the price book that its requests are priced by, or none for the book itself
        #[arg(long, value_name = "VARIANT|none")]
        prices: Option<OrNone<String>>,
    },
    /// List customers
    List,
    /// Show one customer
    Show {
        /// Its id
        customer: String,
    },
    /// Write a customer's whole statement to standard output, one entry a line, for `gatehouse verify`
    #[command(
        after_help = "Example:\n  gatehouse account export alice > alice.jsonl && gatehouse verify alice.jsonl"
    )]
    Export {
        /// Its id
        customer: String,
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
}

/// Does what a command about customers means.
pub(in crate::commands) async fn run(command: CustomerCommand, api: &Api<'_>) -> Performed {
    match command {
        CustomerCommand::Open { customer, quota, period, prices } => {
            let [quota_micro, quota_period] = quota_patch(quota.map(|quota| OrNone(Some(quota))), &period);
            let new = json!({"id": customer, "quota_micro": quota_micro, "quota_period": quota_period, "price_variant": prices});
            api.row(ApiRequest::post(&["customers"]).json(&new), FIELDS).await
        }
        CustomerCommand::Edit { customer, quota, period, low_balance, quota_alert, prices } => {
            let [quota_micro, quota_period] = quota_patch(quota, &period);
            let patch = given([
                ("quota_micro", quota_micro),
                ("quota_period", quota_period),
                ("low_balance_micro", low_balance.map(|low| json!(low.0.map(|low| low.0)))),
                ("quota_alert_percent", quota_alert.map(|percent| json!(percent.0))),
                ("price_variant", prices.map(|variant| json!(variant.0))),
            ]);
            let edit = ApiRequest::patch(&["customers", &customer]).json(&patch).header(IF_MATCH, "*");
            api.row(edit, FIELDS).await
        }
        CustomerCommand::List => api.rows(ApiRequest::get(&["customers"]), usize::MAX, FIELDS).await,
        CustomerCommand::Show { customer } => {
            api.row(ApiRequest::get(&["customers", &customer]), FIELDS).await
        }
        CustomerCommand::Export { customer } => {
            export(&customer, api).await?;
            Ok(Shown::told(Value::Null, String::new()))
        }
        CustomerCommand::Deposit(args) => move_money(args, "deposits", api).await,
        CustomerCommand::Withdraw(args) => move_money(args, "withdrawals", api).await,
    }
}

/// Page by page, so that a statement may have any length.
async fn export(customer: &str, api: &Api<'_>) -> Result<(), ExecuteError> {
    let mut cursor: Option<String> = None;
    loop {
        let request = ApiRequest::get(&["customers", customer, "statement"]).query("limit", PAGE);
        let page = api.send(request.query_if("cursor", cursor)).await?.body;
        let lines = rows_at(&page, "data");
        let text: String =
            lines.iter().map(|line| format!("{}\n", escape_control_in_json(&line.to_string()))).collect();
        if print(&text) != Exit::Done {
            return Err(ExecuteError::Arguments("standard output was closed before the end".to_owned()));
        }
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok(());
        }
    }
}

async fn move_money(args: AmountArgs, way: &str, api: &Api<'_>) -> Performed {
    let AmountArgs { customer, amount, memo } = args;
    let body = json!({"amount_micro": amount.0, "memo": memo});
    let moved = ApiRequest::post(&["customers", &customer, way]).json(&body);
    api.told(moved, |moved| table(std::slice::from_ref(&moved["customer"]), FIELDS)).await
}
