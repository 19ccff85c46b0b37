//! The operator's consent to the defaults that come with a family: they are shown first.

use std::io::{self, BufRead, IsTerminal as _, Write as _};

use gatehouse_admin::Operation;

/// The operation that shows what an installation with defaults would change. `None` when there is nothing to confirm.
pub(super) fn preview(operation: &Operation) -> Option<Operation> {
    match operation {
        Operation::PluginInstall(offer) if offer.defaults().is_some() => {
            Some(Operation::PluginCheck(offer.clone()))
        }
        _ => None,
    }
}

/// Asks on the terminal.
///
/// # Errors
/// There is no terminal to ask on, in words.
pub(super) fn ask() -> Result<bool, String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err("nothing was installed: confirm the defaults on a terminal, or with --yes".to_owned());
    }
    let mut error = io::stderr().lock();
    drop(write!(error, "\nInstall it with these defaults? [y/N] ").and_then(|()| error.flush()));
    Ok(is_yes(&mut input.lock()))
}

fn is_yes(input: &mut dyn BufRead) -> bool {
    let mut line = String::new();
    let read = input.read_line(&mut line).is_ok();
    read && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, yes) in [("y\n", true), (" YES \n", true), ("\n", false), ("", false), ("yellow\n", false)]
        {
            assert_eq!(is_yes(&mut line.as_bytes()), yes, "{line:?}");
        }
    }
}
