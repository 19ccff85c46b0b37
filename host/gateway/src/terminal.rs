//! Text for the person at the terminal: standard output and standard error. Logs are `telemetry`'s.

use std::io::{self, Write as _};

use crate::exit::Exit;

/// Writes to standard output; a reader that went away ends the command.
pub(crate) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.is_ok() { Exit::Done } else { Exit::Broken }
}

/// Writes an error to standard error. A failure to write has no further reader, so it is ignored.
pub(crate) fn print_error(text: &str) {
    drop(writeln!(io::stderr().lock(), "gatehouse: {text}"));
}
