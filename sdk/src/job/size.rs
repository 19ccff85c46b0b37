//! Whether a request fits into a task's state. The host takes long files out of a body; what is left are texts, URLs and
//! short embedded files, and a client may send many of them.

use std::io::{self, Write};

use serde::Serialize;

use crate::params::InvalidParam;

/// What a request may take of a state of 64 KiB, the host's default: the rest is for the family's other fields.
pub const REQUEST_BYTES: usize = 60 * 1024;

/// Checks that `part` of a state has at most `max` bytes as JSON.
///
/// # Errors
/// The bytes it has.
///
/// ```
/// use gatehouse_sdk::job::check_size;
///
/// assert_eq!(check_size(&"12345678", 10), Ok(()));
/// assert_eq!(check_size(&"123456789", 10), Err(11));
/// assert_eq!(check_size(&"\n", 3), Err(4));
/// ```
pub fn check_size(part: &impl Serialize, max: usize) -> Result<(), usize> {
    let mut count = Count(0);
    let bytes = serde_json::to_writer(&mut count, part).map_or(usize::MAX, |()| count.0);
    if bytes <= max { Ok(()) } else { Err(bytes) }
}

/// Refuses a request that does not fit into its task's state. The host has taken large files out; the rest is texts, URLs and
/// short embedded files.
///
/// # Errors
/// The refusal, about the whole request.
pub fn check_request(request: &impl Serialize) -> Result<(), InvalidParam> {
    check_size(request, REQUEST_BYTES).map_err(|bytes| {
        let problem = format!(
            "expected texts and URLs of at most {REQUEST_BYTES} bytes together (large files do not count), got {bytes}"
        );
        InvalidParam::at(None, problem)
    })
}

/// Counts what is written.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
