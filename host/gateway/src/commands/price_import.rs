//! `gatehouse prices import`: what a public list would change in the prices of text models, and the change itself.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_admin::ApiRequest;
use gatehouse_files::read_at_most;
use gatehouse_model::Credits;
use serde_json::{Value, json};

use crate::commands::api::{Api, ExecuteError, Performed};
use crate::commands::print::{Shown, credits, reload_in_words, rows_at, table, text_at, texts_at};
use crate::config::{Location, file_of, load_with};
use crate::price_list::{PriceList, Proposal, Wanted, propose, replace, with_prices};
use crate::terminal::at;

/// Bytes of a list. The one that many tools share has less than two million.
const MAX_LIST: u64 = 64 * 1024 * 1024;

pub(crate) const IMPORT_HELP: &str = "\
Examples:
  gatehouse prices import model_prices_and_context_window.json
  gatehouse prices import model_prices_and_context_window.json --model my-model=claude-x --credits-per-dollar 100 --apply

Nothing is written without --apply. With it the prices of the models are written into the configuration file, and a running gateway reads it
again; where it refuses, the file is as it was. Where it is not known whether the gateway took them, the file stays written.";

/// Which list, and what of it.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The list: a JSON object of entries by name, with dollars for one token
    file: PathBuf,
    /// Only this text model; with =ENTRY where the list has it under another name than the model's own and its provider's
    #[arg(long, value_name = "MODEL[=ENTRY]")]
    model: Vec<Wanted>,
    /// What a dollar of the list is
    #[arg(long, value_name = "CREDITS", default_value = "1")]
    credits_per_dollar: Credits,
    /// Write the prices into the configuration, and have a running gateway read it again
    #[arg(long)]
    apply: bool,
}

/// Shows what would change, and changes it if asked.
pub(in crate::commands) async fn run(args: ImportArgs, api: &Api<'_>) -> Performed {
    let ImportArgs { file, model, credits_per_dollar, apply } = args;
    let text = read_list(&file)?;
    let list = PriceList::parse(&text)?;
    let loaded = load_with(api.location(), None)?;
    let proposal = propose(&list, &loaded.config.models, &model, credits_per_dollar)?;
    let mut shown = json!(proposal);
    shown["applied"] = json!(false);
    let mut words = in_words(&shown);
    if apply && proposal.changes() > 0 {
        let reload = write(&proposal, api).await?;
        shown["applied"] = json!(true);
        match &reload {
            Some(reload) => {
                words.push_str(&format!("written; the gateway has them now\n{}", reload_in_words(reload)));
            }
            None => words.push_str("written; no gateway runs on this data folder, the next start has them\n"),
        }
        shown["reload"] = reload.unwrap_or_default();
    } else if proposal.changes() > 0 {
        words.push_str("nothing is written; --apply writes it\n");
    }
    Ok(Shown::told(shown, words))
}

fn read_list(path: &Path) -> Result<String, String> {
    let read = File::open(path).and_then(|file| read_at_most(file, MAX_LIST));
    read.and_then(|bytes| io::read_to_string(&bytes[..])).map_err(at(path))
}

/// Writes the prices, and tells what the gateway says of it; `None` where none runs.
async fn write(proposal: &Proposal, api: &Api<'_>) -> Result<Option<Value>, ExecuteError> {
    let path = file_of(api.location()).ok_or_else(|| {
        "there is no configuration file to write prices into; name one with --config".to_owned()
    })?;
    let before = fs::read_to_string(path).map_err(at(path))?;
    let after = with_prices(&before, proposal)?;
    let check = |at: &Path| -> Result<(), ExecuteError> {
        let location = Location { file: Some(at.to_owned()), ..api.location().clone() };
        let loaded = load_with(&location, None)?.whole()?;
        match proposal.missed_by(&loaded.config.models) {
            Some(path) => {
                Err(format!("{path}: something above the file sets it, such as the environment").into())
            }
            None => Ok(()),
        }
    };
    let replaced = replace(path, before, &after, check)?;
    if api.needs_gateway("").is_err() {
        return Ok(None);
    }
    match api.send(ApiRequest::post(&["config", "reload"])).await {
        Ok(answer) => Ok(Some(answer.body)),
        Err(refused) if applied_nothing(&refused) => {
            replaced.undo().map_err(|why| format!("{refused}; {why}"))?;
            Err(refused)
        }
        // With the old file back, the prices of the gateway and those of its next start might differ.
        Err(why) => Err(ExecuteError::Written { file: path.display().to_string(), why: Box::new(why) }),
    }
}

/// Whether the gateway itself says that it has changed nothing. A failure of its own may come after the change, and no answer
/// says nothing.
fn applied_nothing(error: &ExecuteError) -> bool {
    matches!(error, ExecuteError::Refused(refusal) if (400..500).contains(&refusal.status))
}

fn in_words(shown: &Value) -> String {
    let mut rows = Vec::new();
    let mut notes = String::new();
    for model in rows_at(shown, "models") {
        let name = text_at(model, "model");
        for change in rows_at(model, "changes") {
            rows.push(json!({
                "model": name, "entry": model["entry"], "price": change["price"],
                "before_micro": change["before_micro"], "after_micro": change["after_micro"],
            }));
            if change["rounded_up"] == true {
                let (price, after) = (text_at(change, "price"), credits(&change["after_micro"]));
                let _ = writeln!(notes, "{name}: {price} is rounded up to {after}");
            }
        }
        for other in rows_at(model, "not_understood") {
            let _ = writeln!(
                notes,
                "{name}: not understood, not imported: {} = {}",
                text_at(other, "field"),
                text_at(other, "value")
            );
        }
        if model["targets_with_own_prices"] != 0 {
            let _ = writeln!(
                notes,
                "{name}: {} of its targets have prices of their own, which stay",
                model["targets_with_own_prices"]
            );
        }
    }
    for model in texts_at(shown, "without_entry") {
        let _ = writeln!(notes, "{model}: the list has no entry of it");
    }
    let count = rows.len();
    let table = table(&rows, &["text model=model", "entry", "price", "before_micro|none", "after_micro"]);
    format!("{table}{notes}{count} prices differ\n")
}

#[cfg(test)]
mod tests {
    use gatehouse_admin::ApiRefusal;

    use super::*;
    use crate::terminal::Exit;

    /// Without it a time-out puts the old prices back into the file of a gateway that charges the new ones.
    #[test]
    fn only_a_refusal_puts_the_file_back() {
        let refused = |status| {
            let (reason, message, body) = ("busy".to_owned(), "no".to_owned(), Value::Null);
            ExecuteError::Refused(ApiRefusal { status, reason, message, body })
        };
        for (error, expected) in [
            (refused(400), true),
            (refused(409), true),
            (refused(500), false),
            (refused(503), false),
            (ExecuteError::Unreachable("no answer in time".to_owned()), false),
        ] {
            assert_eq!(applied_nothing(&error), expected, "{error:?}");
        }
        let why = Box::new(ExecuteError::Unreachable("no answer in time".to_owned()));
        let written = ExecuteError::Written { file: "gatehouse.toml".to_owned(), why };
        assert!(written.to_string().contains("no answer in time; run `gatehouse reload`"), "{written}");
        assert_eq!(Exit::from(&written), Exit::Broken);
    }
}
