//! A panic in a task of the runtime would end that task and nothing else; here it is noticed.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// How often this thread has panicked so far, caught or not.
pub(crate) fn here() -> usize {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            COUNT.with(|count| count.set(count.get() + 1));
            before(panic);
        }));
    });
    COUNT.with(Cell::get)
}
