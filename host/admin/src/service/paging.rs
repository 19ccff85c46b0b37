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

#[cfg(test)]
mod tests {
    use super::*;

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
