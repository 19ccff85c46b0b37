//! The commands about prices: their options, the requests they mean, and what is said of the answers.

use std::fmt::Write as _;

use clap::Subcommand;
use gatehouse_admin::ApiRequest;
use serde_json::{Value, json};

use super::values::read_json;
use crate::commands::api::{Api, Performed};
use crate::commands::price_import::{self, IMPORT_HELP, ImportArgs};
use crate::commands::print::{credits, rows_at, table, text_at};

/// Commands about prices.
#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// Show the prices in effect, by family
    Show,
    /// Say what a request would cost; makes nothing, and needs no key and no money
    #[command(after_help = "Example:
  gatehouse prices preview /v1/images/generations '{\"model\": \"ctx-pro\", \"prompt\": \"a kite\"}'")]
    Preview {
        /// The path of the endpoint, or its operation, such as images.generate
        #[arg(value_name = "PATH")]
        target: String,
        /// The body, JSON; @FILE reads it from a file
        body: String,
        /// The customer whose prices, tasks and names they are
        #[arg(long)]
        customer: Option<String>,
        /// Price it by this version of the price book
        #[arg(long, value_name = "NUMBER")]
        book: Option<u64>,
    },
    /// List the versions of the price book: since when, by whom, how many prices changed
    History {
        /// At most this many
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show what a public price list would change for text models, and write it with --apply
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Show what differs between a version of the price book and the one before
    #[command(after_help = "Example:\n  gatehouse prices history && gatehouse prices diff 7 --against 3")]
    Diff {
        /// Its number
        book: u64,
        /// Another version instead of the one before
        #[arg(long, value_name = "NUMBER")]
        against: Option<u64>,
    },
}

/// Does what a command means.
pub(in crate::commands) async fn run(command: PricesCommand, api: &Api<'_>) -> Performed {
    let why = "only a running one knows the prices of its plugins";
    match command {
        PricesCommand::Show => {
            api.needs_gateway(why)?;
            api.told(ApiRequest::get(&["price-books", "active"]), in_effect).await
        }
        PricesCommand::Preview { target, body, customer, book } => {
            let body: Value = read_json("the body", &body)?;
            api.needs_gateway(why)?;
            let name = if target.starts_with('/') { "path" } else { "operation" };
            let request = json!({name: target, "body": body, "customer": customer, "price_book": book});
            api.told(ApiRequest::post(&["price-books", "preview"]).json(&request), cost).await
        }
        PricesCommand::History { limit } => {
            let fields = ["version=number", "since=at", "prices", "changed", "cause", "who"];
            api.rows(ApiRequest::get(&["price-books"]), limit as usize, &fields).await
        }
        PricesCommand::Import(args) => price_import::run(args, api).await,
        PricesCommand::Diff { book, against } => {
            let diff = ApiRequest::get(&["price-books", &book.to_string(), "changes"]);
            api.told(diff.query_if("against", against), changes).await
        }
    }
}

/// Every price with its family, then the text models, then what is wrong.
fn in_effect(prices: &Value) -> String {
    let families = rows_at(prices, "families");
    let owner = |key: &Value| {
        let owns = |family: &&Value| rows_at(family, "units").iter().any(|unit| unit["key"] == *key);
        families.iter().find(owns).map_or(Value::Null, |family| family["family"].clone())
    };
    let units: Vec<Value> = rows_at(prices, "units")
        .iter()
        .map(|unit| json!({"family": owner(&unit["key"]), "key": unit["key"], "price_micro": unit["price_micro"], "per": unit["per"]}))
        .collect();
    let tokens = [
        "text model=model",
        "provider",
        "input_micro",
        "output_micro",
        "cached_micro",
        "cache_write_micro",
        "for an hour=cache_write_1h_micro",
    ];
    let mut text = table(&units, &["family", "price key=key", "credits=price_micro", "per"]);
    let _ = writeln!(text, "\n{}", table(rows_at(prices, "tokens"), &tokens).trim_end());
    for variant in rows_at(prices, "variants") {
        let name = text_at(variant, "name");
        let _ = writeln!(text, "\nvariant {name}, where it differs:");
        let (units, models) = (rows_at(variant, "units"), rows_at(variant, "tokens"));
        text.push_str(&table(units, &["price key=key", "credits=price_micro", "per"]));
        if !models.is_empty() {
            let _ = writeln!(text, "\n{}", table(models, &tokens).trim_end());
        }
    }
    for family in families {
        for key in rows_at(family, "missing") {
            let _ =
                writeln!(text, "error: family {}: price key {key} has no price", text_at(family, "family"));
        }
    }
    text
}

/// The charges of a request and their sum.
fn cost(preview: &Value) -> String {
    let fields = [
        "price_key",
        "quantity",
        "unit",
        "unit_name",
        "price=unit_price_micro",
        "per",
        "sum_micro",
        "keys tried=price_keys",
    ];
    let most = if preview["at_most"] == true { "at most " } else { "" };
    let (table, sum) = (table(rows_at(preview, "charges"), &fields), credits(&preview["sum_micro"]));
    let mut text = format!("{table}\n{}: {most}{sum} credits\n", text_at(preview, "model"));
    if let Some(failure) = preview["failure"].as_str() {
        let _ = writeln!(text, "It would be accepted and fail: {failure}");
    }
    text
}

/// What differs between two versions.
fn changes(found: &Value) -> String {
    let rows = rows_at(found, "changes");
    let mut text = table(rows, &["price key=key", "of=part", "before_micro", "after_micro"]);
    let number = &found["number"];
    let _ = match &found["against"] {
        Value::Null => writeln!(text, "\nno version before {number} is kept"),
        before => writeln!(text, "\n{} of version {number} differ from {before}", rows.len()),
    };
    if found["incomplete"] == true {
        text.push_str("prices that are not kept may differ, too\n");
    }
    text
}
