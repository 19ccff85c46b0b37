//! `verify`: checks a customer's statement in a file, in little memory. Opens nothing but that file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use gatehouse_model::escape_control;
use gatehouse_tasks::{StatementCheck, VerifiedStatement};

use crate::terminal::{Exit, at, end};

/// The longest line: far more than any entry has.
const MAX_LINE: u64 = 64 << 10;

/// Prints what the file proves, or the first line that is wrong.
pub(super) fn run(file: &Path) -> Exit {
    let checked = File::open(file).map_err(|error| error.to_string()).and_then(check);
    let checked = checked.map(|found| format!("{found}\n"));
    end(checked.map_err(at(file)), Exit::Refused)
}

fn check(file: impl std::io::Read) -> Result<VerifiedStatement, String> {
    let (mut reader, mut check) = (BufReader::new(file), StatementCheck::default());
    for number in 1_u64.. {
        let mut line = Vec::new();
        reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if line.is_empty() {
            break;
        }
        if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 == MAX_LINE {
            return Err(format!("line {number}: expected at most {MAX_LINE} bytes"));
        }
        let text = String::from_utf8(line).map_err(|_| format!("line {number}: expected UTF-8"))?;
        // Line breaks too: what is quoted of a foreign file must not look like a line of this command.
        check.line(&text).map_err(|wrong| escape_control(&wrong.to_string()).into_owned())?;
    }
    check.end().map_err(|wrong| wrong.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the bound a file without line breaks would be read into memory whole.
    #[test]
    fn lines_are_bounded_and_text() {
        for (text, expected) in [
            (vec![], "line 1: expected another line"),
            (vec![b' '; 70_000], "line 1: expected at most 65536 bytes"),
            (vec![255, b'\n'], "line 1: expected UTF-8"),
            (
                b"{\"line\":\"begin\",\"format\":1,\"customer\":\"a\"}\n".to_vec(),
                "line 2: expected another line",
            ),
            (
                b"{\"line\":\"begin\",\"format\":1,\"customer\":\"a: 9 entries are right\\nhead \\u001b[8m\"}\n".to_vec(),
                "line 1: customer: expected 1 to 64 letters",
            ),
            (
                b"{\"line\":\"begin\\ncustomer a: 9 entries are right\\u001b[8m\"}\n".to_vec(),
                "line 1: expected a line of a statement: unknown variant `begin\\n",
            ),
        ] {
            let problem = check(text.as_slice()).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}");
            assert!(!problem.contains(char::is_control), "{problem:?}");
        }
        let mut whole = b"{\"line\":\"begin\",\"format\":1,\"customer\":\"a\"}\n".to_vec();
        let zeros = "0".repeat(64);
        whole.extend(
            format!(
                "{{\"line\":\"end\",\"entries\":0,\"chain\":\"{zeros}\",\"available_micro\":0,\"held_micro\":0,\
                 \"spent_micro\":0,\"deposited_micro\":0}}"
            )
            .bytes(),
        );
        assert_eq!(check(whole.as_slice()).unwrap().customer.id.0, "a");
    }
}
