//! Keys under their earlier names. They are still read, as the keys that replaced them.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Earlier path, current path. Both are in the same table.
pub(super) const RENAMED: [(&str, &str); 2] =
    [("plugins.watch", "plugins.canary"), ("server.leave_ms", "server.lame_duck_ms")];

/// `path` with the current names.
pub(super) fn current(path: String) -> String {
    let renamed = RENAMED.iter().find_map(|(old, new)| {
        let rest = path.strip_prefix(old)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{new}{rest}"))
    });
    renamed.unwrap_or(path)
}

/// Moves values to their current keys. A value whose current key is set too stays, and its earlier path is returned.
pub(super) fn rename(root: &mut DeTable<'_>) -> Option<&'static str> {
    RENAMED.iter().find_map(|(old, new)| {
        let ((outer, old_key), (_, new_key)) = (old.rsplit_once('.')?, new.rsplit_once('.')?);
        let Some(DeValue::Table(table)) = root.get_mut(outer).map(Spanned::get_mut) else { return None };
        if table.contains_key(old_key) && table.contains_key(new_key) {
            return Some(*old);
        }
        let (key, value) = table.remove_entry(old_key)?;
        table.insert(Spanned::new(key.span(), Cow::Borrowed(new_key)), value);
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_get_their_current_names() {
        for (path, expected) in [
            ("server.leave_ms", "server.lame_duck_ms"),
            ("plugins.watch.faults", "plugins.canary.faults"),
            ("plugins.watch_folder", "plugins.watch_folder"),
            ("server", "server"),
        ] {
            assert_eq!(current(path.to_owned()), expected);
        }
    }
}
