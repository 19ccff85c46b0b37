//! What a player holds an answer against: itself, when it is asked again, and what a line expects.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::lines::Check;
use crate::machine::Played;

/// Every call is made twice, as the host does before a switch.
pub(super) fn twice<T: PartialEq + Debug>(ask: impl Fn() -> Played<T>) -> Played<T> {
    let (first, second) = (ask()?, ask()?);
    if first == second {
        return Ok(first);
    }
    Err(format!("the same question was answered in two ways:\n  first: {first:?}\n  second: {second:?}"))
}

pub(super) fn equal<T: PartialEq + Debug>(what: &str, came: &T, expected: &T) -> Result<(), String> {
    if came == expected {
        return Ok(());
    }
    Err(format!("expected {what}: {expected:?}\n  came: {came:?}"))
}

/// Runs a check; a panic becomes an error with the value.
pub(super) fn run<T: Debug>(check: &Check<T>, came: &T) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| check(came))).map_err(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("the check panicked");
        format!("{reason}\n  came: {came:?}")
    })
}
