//! Searches by the beginning of an id: where their first page begins, and what of a page belongs to them.

use gatehouse_store::RowPage;

/// A position in front of the first id that begins with this. Ids are ASCII without control characters.
pub(crate) fn before_prefix(prefix: &str) -> String {
    let mut before = prefix.to_owned();
    match before.pop() {
        Some(last @ '!'..='~') => {
            before.push(char::from(last as u8 - 1));
            before.push('\u{7f}');
            before
        }
        // No id has it, so any position will do.
        _ => prefix.to_owned(),
    }
}

/// What of a page begins with the prefix, if one is asked for. The ids that do stand together, so others end the list.
pub(crate) fn of_prefix<R, P>(
    page: RowPage<R, P>,
    prefix: Option<&str>,
    id: impl Fn(&R) -> &str,
    position: impl Fn(&P) -> &str,
) -> RowPage<R, P> {
    let Some(prefix) = prefix else { return page };
    let rows = page.rows.into_iter().filter(|row| id(row).starts_with(prefix)).collect();
    RowPage { rows, next: page.next.filter(|next| position(next).starts_with(prefix)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it the first customer of a search is missing, or a search never ends.
    #[test]
    fn a_prefix_begins_at_its_first_id_and_ends_with_its_last() {
        let ids = ["am", "am~", "an", "an-1", "ana", "b"];
        let after = before_prefix("an");
        let rows: Vec<&str> = ids.into_iter().filter(|id| **id > *after).collect();
        assert_eq!(rows, ["an", "an-1", "ana", "b"]);
        for (next, expected) in [(Some("b"), None), (Some("ana"), Some("ana")), (None, None)] {
            let page = of_prefix(RowPage { rows: rows.clone(), next }, Some("an"), |row| row, |next| next);
            assert_eq!((page.rows, page.next), (vec!["an", "an-1", "ana"], expected));
        }
        assert_eq!(before_prefix("\u{e9}"), "\u{e9}");
    }
}
