//! What a connection has written and not yet flushed, as the code above hyper sees it: hyper drops the bytes of an answer
//! when they are written, which inside TLS is before they leave. Never touches a stream.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// The flushes of one connection, shared by its byte stream and its service.
#[derive(Clone, Default)]
pub struct Flushes(Arc<Mutex<Unflushed>>);

#[derive(Default)]
struct Unflushed {
    /// Bytes were written after the last flush.
    any: bool,
    /// Dropped by the next flush.
    kept: Vec<Box<dyn Send>>,
}

impl Flushes {
    /// Drops `value` once all bytes written until now are flushed, or the connection has ended: at once where nothing waits.
    pub fn drop_after(&self, value: Box<dyn Send>) {
        let mut over = Some(value);
        self.change(|unflushed| {
            if unflushed.any {
                unflushed.kept.extend(over.take());
            }
        });
        // Outside of the lock, as below.
        drop(over);
    }

    /// Bytes were written.
    pub(crate) fn wrote(&self) {
        self.change(|unflushed| unflushed.any = true);
    }

    /// All bytes have left, or none ever will.
    pub(crate) fn flushed(&self) {
        let kept = self.change(|unflushed| mem::take(unflushed).kept);
        // Outside of the lock: what is dropped may end a connection.
        drop(kept);
    }

    fn change<T>(&self, change: impl FnOnce(&mut Unflushed) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Flushes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (any, kept) = self.change(|unflushed| (unflushed.any, unflushed.kept.len()));
        f.debug_struct("Flushes").field("unflushed", &any).field("kept", &kept).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_until_what_was_written_has_left() {
        let (flushes, value) = (Flushes::default(), Arc::new(()));
        let others = || Arc::strong_count(&value) - 1;
        flushes.drop_after(Box::new(Arc::clone(&value)));
        assert_eq!(others(), 0, "nothing was written");
        flushes.wrote();
        flushes.drop_after(Box::new(Arc::clone(&value)));
        flushes.drop_after(Box::new(Arc::clone(&value)));
        assert_eq!(others(), 2);
        flushes.flushed();
        assert_eq!(others(), 0);
        flushes.drop_after(Box::new(Arc::clone(&value)));
        assert_eq!(others(), 0, "nothing was written since");
    }
}
