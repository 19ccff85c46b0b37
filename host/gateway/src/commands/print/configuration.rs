//! Text about the configuration: what a reload changed, and what the defaults of a family add.

use std::io::{self, Write};

use gatehouse_admin::{DefaultEffect, DefaultView, ReloadView};

/// What a reload changed.
pub(super) fn reloaded(out: &mut dyn Write, view: &ReloadView) -> io::Result<()> {
    let ReloadView { changed, accounts, needs_restart, warnings } = view;
    if changed.is_empty() && accounts.is_empty() {
        writeln!(out, "read again; nothing that a running gateway takes over has changed")?;
    } else {
        writeln!(out, "reloaded")?;
    }
    changed.iter().try_for_each(|key| writeln!(out, "  changed: {key}"))?;
    accounts.iter().try_for_each(|account| writeln!(out, "  account: {account}"))?;
    needs_restart.iter().try_for_each(|key| writeln!(out, "  needs a restart: {key}"))?;
    warnings.iter().try_for_each(|warning| writeln!(out, "  warning: {warning}"))
}

/// The defaults of a family; nothing for none.
pub(super) fn defaults(out: &mut dyn Write, defaults: &[DefaultView]) -> io::Result<()> {
    if defaults.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nDefaults that come with it:")?;
    for DefaultView { key, value, effect } in defaults {
        match effect {
            DefaultEffect::Added => writeln!(out, "  + {key} = {value}")?,
            DefaultEffect::Changed { before } => writeln!(out, "  ~ {key} = {value} (was {before})")?,
            DefaultEffect::Unchanged => writeln!(out, "  = {key} = {value}")?,
            DefaultEffect::Overridden { by, at } => {
                writeln!(out, "  ! {key} = {value} is not used: {at} sets {by}")?;
            }
            DefaultEffect::Removed { before } => writeln!(out, "  - {key} (was {before})")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_has_its_mark() {
        let view = |effect| DefaultView { key: "prices.a".to_owned(), value: "\"4\"".to_owned(), effect };
        let before = || "\"3\"".to_owned();
        let all = [
            view(DefaultEffect::Added),
            view(DefaultEffect::Changed { before: before() }),
            view(DefaultEffect::Unchanged),
            view(DefaultEffect::Overridden { by: before(), at: "gatehouse.toml:7".to_owned() }),
            view(DefaultEffect::Removed { before: before() }),
        ];
        let mut out = Vec::new();
        defaults(&mut out, &[]).unwrap();
        defaults(&mut out, &all).unwrap();
        let expected = "
Defaults that come with it:
  + prices.a = \"4\"
  ~ prices.a = \"4\" (was \"3\")
  = prices.a = \"4\"
  ! prices.a = \"4\" is not used: gatehouse.toml:7 sets \"3\"
  - prices.a (was \"3\")
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_reload_without_a_change_says_so() {
        let mut out = Vec::new();
        let view = ReloadView { needs_restart: vec!["server.listen".to_owned()], ..ReloadView::default() };
        reloaded(&mut out, &view).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("read again;") && text.ends_with("  needs a restart: server.listen\n"),
            "{text}"
        );
    }
}
