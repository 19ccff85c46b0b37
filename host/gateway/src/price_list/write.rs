//! The configuration with other prices: every other byte of the operator's file stays, its comments too, and so do its owner and
//! mode.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use gatehouse_model::Credits;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value, value};

use crate::price_list::proposal::Proposal;

/// The text of a configuration with the prices of a proposal.
pub(crate) fn with_prices(text: &str, proposal: &Proposal) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    for one in &proposal.models {
        for change in &one.changes {
            let mut at = document.as_item_mut();
            let path = ["models", &one.model, "prices"];
            let (inner, name) =
                change.price.split_once('.').map_or((None, change.price), |(of, name)| (Some(of), name));
            for key in path.into_iter().chain(inner) {
                at = child(at, key)?;
            }
            set(at, name, change.after)?;
        }
    }
    Ok(document.to_string())
}

/// The table of that name, made where it is not there.
fn child<'i>(parent: &'i mut Item, key: &str) -> Result<&'i mut Item, String> {
    let is_inline = parent.is_inline_table();
    let table = parent.as_table_like_mut().ok_or_else(|| no_table(key))?;
    if !table.contains_key(key) {
        let mut made = Table::new();
        made.set_implicit(true);
        table.insert(key, if is_inline { value(InlineTable::new()) } else { Item::Table(made) });
    }
    table.get_mut(key).ok_or_else(|| no_table(key))
}

/// Sets a price, and leaves what stands around it.
fn set(prices: &mut Item, name: &str, amount: Credits) -> Result<(), String> {
    let table = prices.as_table_like_mut().ok_or_else(|| no_table(name))?;
    let mut price = Value::from(amount.to_string());
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(before) => {
            *price.decor_mut() = before.decor().clone();
            *before = price;
        }
        None => drop(table.insert(name, Item::Value(price))),
    }
    Ok(())
}

fn no_table(key: &str) -> String {
    format!("{key}: expected a table around it in the configuration")
}

/// A file that was replaced.
pub(crate) struct Replaced {
    path: PathBuf,
    before: String,
    after: String,
}

/// Replaces a file as a whole, once `check` has accepted the new one under another name, and unless it is no longer as it was
/// `before`. Who may read it stays.
///
/// # Errors
/// The check's, or why it cannot be written. The file is as it was.
pub(crate) fn replace<E: From<String>>(
    path: &Path,
    before: String,
    after: &str,
    check: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Replaced, E> {
    let path = path.canonicalize().map_err(|error| unwritten(path, &error))?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let write = || -> io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::Builder::new().prefix(".").suffix(".toml").tempfile_in(folder)?;
        file.write_all(after.as_bytes())?;
        let known = fs::metadata(&path)?;
        let own = file.as_file().metadata()?;
        if (own.uid(), own.gid()) != (known.uid(), known.gid()) {
            chown(file.path(), Some(known.uid()), Some(known.gid()))?;
        }
        file.as_file().set_permissions(known.permissions())?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    let file = write().map_err(|error| unwritten(&path, &error))?;
    check(file.path())?;
    // The check takes a moment, in which an editor may have saved.
    let now = fs::read(&path).map_err(|error| unwritten(&path, &error))?;
    if now != before.as_bytes() {
        let why = "it was edited meanwhile, and stays as it is now";
        return Err(format!("{}: {why}; do it again", path.display()).into());
    }
    file.persist(&path).map_err(|error| unwritten(&path, &error.error))?;
    Ok(Replaced { path, before, after: after.to_owned() })
}

impl Replaced {
    /// Puts the earlier content back, unless the file was edited since.
    pub(crate) fn undo(self) -> Result<(), String> {
        let Self { path, before, after } = self;
        replace(&path, after, &before, |_| Ok::<(), String>(())).map(drop)
    }
}

fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}; the prices are not written", path.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use gatehouse_driver::ModelConfig;

    use super::*;
    use crate::price_list::{PriceList, propose};

    const FILE: &str = r#"# mine
[models."a.b"]   # the first
provider = "p"
protocol = "chat"
prices = { input = "1", output = "2" }   # agreed in May

[models.second]
provider = "p"
protocol = "chat"

[models.second.prices]
input = "1"   # a note
output = "2"
[prices]
x = "1"
"#;
    const LIST: &str = r#"{
        "a.b": {"input_cost_per_token": 3e-06, "output_cost_per_token": 2e-06, "input_cost_per_audio_token": 4e-06},
        "second": {"input_cost_per_token": 2.5e-06, "cache_read_input_token_cost": 1e-07, "output_cost_per_audio_token": 1e-05}
    }"#;

    fn models(text: &str) -> std::collections::BTreeMap<String, ModelConfig> {
        #[derive(serde::Deserialize)]
        struct Models {
            models: std::collections::BTreeMap<String, ModelConfig>,
        }
        toml::from_str::<Models>(text).expect("a configuration").models
    }

    /// Without it an import takes an operator's notes away, or writes what the next start refuses.
    #[test]
    fn only_the_prices_change() {
        let list = PriceList::parse(LIST).expect("a list");
        let proposal = propose(&list, &models(FILE), &[], "1".parse().expect("credits")).expect("a proposal");
        let after = with_prices(FILE, &proposal).expect("a text");
        assert_eq!(proposal.missed_by(&models(&after)), None, "{after}");
        for kept in [
            "# mine\n",
            "   # the first\n",
            "   # agreed in May\n",
            "input = \"2.5\"   # a note\n",
            "[prices]\nx = \"1\"\n",
        ] {
            assert!(after.contains(kept), "{kept}: {after}");
        }
        let same = propose(&list, &models(&after), &[], "1".parse().expect("credits")).expect("a proposal");
        assert_eq!((same.changes(), with_prices(&after, &same).expect("a text")), (0, after));
    }

    #[test]
    fn a_model_of_a_familys_defaults_gets_a_table_of_its_own() {
        let list = PriceList::parse(LIST).expect("a list");
        let proposal = propose(&list, &models(FILE), &[], "1".parse().expect("credits")).expect("a proposal");
        let after = with_prices("[server]\n", &proposal).expect("a text");
        let table: toml::Table = after.parse().expect("a configuration");
        assert_eq!(
            table["models"]["a.b"]["prices"]["counters"]["input-audio"].as_str(),
            Some("4"),
            "{after}"
        );
    }

    #[test]
    fn a_file_keeps_its_mode_and_a_refused_one_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gatehouse.toml");
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        let refused = replace(&path, "old".to_owned(), "new", |_| Err("no".to_owned()));
        assert!(refused.is_err());
        let content = || fs::read_to_string(&path).expect("a file");
        assert_eq!(content(), "old");
        let accepted = |at: &Path| -> Result<(), String> {
            assert_eq!(fs::read_to_string(at).expect("a file"), "new");
            Ok(())
        };
        let replaced = replace(&path, "old".to_owned(), "new", accepted).expect("replaced");
        assert_eq!(content(), "new");
        replaced.undo().expect("as before");
        // Somebody saves while the new text is checked, and while the gateway is asked.
        let edit = |text: &str| fs::write(&path, text).expect("a file");
        let edited = replace(&path, "old".to_owned(), "new", |_| {
            edit("edited");
            Ok::<(), String>(())
        });
        assert!(edited.is_err_and(|error| error.contains("it was edited meanwhile")));
        assert_eq!(content(), "edited");
        let replaced = replace(&path, "edited".to_owned(), "new", accepted).expect("replaced");
        edit("again");
        replaced.undo().expect_err("an edit stays");
        assert_eq!(content(), "again");
        edit("old");
        let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
        assert_eq!((content().as_str(), mode), ("old", 0o640));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
