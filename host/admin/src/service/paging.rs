//! Rows of several pages, for the command line, which asks for a number and gets a list.

use std::future::Future;

use gatehouse_store::RowPage;

use crate::api::error::OperationError;

/// The first `limit` rows; `page` reads at most so many behind a position, `piece` at a time. A page may have fewer rows than
/// it was asked for and still a next one.
pub(super) async fn first_rows<R, P: Clone, F>(
    limit: usize,
    piece: usize,
    page: impl Fn(Option<P>, usize) -> F,
) -> Result<Vec<R>, OperationError>
where
    F: Future<Output = Result<RowPage<R, P>, OperationError>>,
{
    let (mut rows, mut position) = (Vec::new(), None);
    while rows.len() < limit {
        let read = page(position, piece.min(limit - rows.len())).await?;
        rows.extend(read.rows);
        position = read.next;
        if position.is_none() {
            break;
        }
    }
    Ok(rows)
}

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

    #[tokio::test]
    async fn pages_are_read_until_there_are_enough() {
        // Ten rows, of which a page shows the even ones among the three that it looks at.
        let page = |after: Option<u32>, most: usize| {
            let from = after.unwrap_or(0);
            let looked = (from + 1..=10).take(3.min(most.max(1)));
            let last = looked.clone().last();
            let rows: Vec<u32> = looked.filter(|row| row % 2 == 0).collect();
            let next = last.filter(|last| *last < 10);
            std::future::ready(Ok(RowPage { rows, next }))
        };
        for (limit, expected) in [(0, &[][..]), (2, &[2, 4]), (5, &[2, 4, 6, 8, 10]), (99, &[2, 4, 6, 8, 10])]
        {
            assert_eq!(first_rows(limit, 100, page).await.unwrap(), expected, "{limit}");
        }
    }
}
