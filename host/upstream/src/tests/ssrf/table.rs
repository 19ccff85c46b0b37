//! The tables' form: `|` between columns, `#` before remarks, `{hex}` for a character that would not show.

/// One row: its cells, the reason last.
pub(super) type Row = Vec<String>;

/// The rows of a table with this many columns.
pub(super) fn read(text: &str, columns: usize) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let rows: Vec<Row> = lines
        .map(|line| {
            let row: Row = line.split('|').map(|cell| unescaped(cell.trim_matches(' '))).collect();
            assert_eq!(row.len(), columns, "{line}");
            assert!(!row[columns - 1].is_empty(), "no reason: {line}");
            row
        })
        .collect();
    let cases = rows.iter().map(|row| &row[..columns - 1]).collect::<std::collections::HashSet<_>>();
    assert_eq!(cases.len(), rows.len(), "a row stands twice");
    rows
}

fn unescaped(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, after)) = rest.split_once('{') {
        let (code, behind) = after.split_once('}').expect("a closing brace");
        text.push_str(before);
        text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = behind;
    }
    text + rest
}

/// Fails with every row that did not turn out as its table says.
pub(super) fn assert_all(checked: usize, wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of {checked} checks:\n  {}", wrong.len(), wrong.join("\n  "));
}
