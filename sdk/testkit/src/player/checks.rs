//! What a player holds a line and an answer against: the manifest, what was charged, the same answer a second time, and what a
//! line expects.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gatehouse_sdk::Charge;

use crate::lines::Check;
use crate::machine::{Declared, Played};

/// Every call is made twice, as the host does before a switch.
pub(super) fn twice<T: PartialEq + Debug>(ask: impl Fn() -> Played<T>) -> Played<T> {
    let (first, second) = (ask()?, ask()?);
    if first == second {
        return Ok(first);
    }
    Err(format!("the same question was answered in two ways:\n  first: {first:?}\n  second: {second:?}"))
}

/// The host has no route for any other surface, so such a line would play what never happens.
pub(super) fn surface(declared: &Declared, name: &str) -> Result<(), String> {
    if declared.surfaces.iter().any(|known| known == name) {
        return Ok(());
    }
    let known: Vec<String> = declared.surfaces.iter().map(|known| format!("{known:?}")).collect();
    Err(format!("expected a surface of the manifest ({}), got {name:?}", known.join(", ")))
}

/// The host bills the hold and rolls the version back when more is settled than was charged. Prices are the
/// operator's, so only quantities of the same price keys can be compared here.
pub(super) fn settles(held: &Charge, settle: Option<&Charge>) -> Result<(), String> {
    match settle {
        Some(settle) if settle.keys == held.keys && settle.quantity > held.quantity => Err(format!(
            "settle.quantity: expected at most {}, which was charged for {:?}, got {}",
            held.quantity, held.keys, settle.quantity
        )),
        _ => Ok(()),
    }
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
