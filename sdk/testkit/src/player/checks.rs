//! What a player holds a line and an answer against: the manifest, what was charged, the same answer a second time, and what a
//! line expects.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gatehouse_sdk::{Charge, Line};

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

/// The host bills the hold and rolls the version back when a task settles more than was held for it, or by a price that was not
/// accepted. Prices are the operator's, so only quantities of the same price keys can be compared here.
pub(super) fn settles(held: &[Line], settle: Option<&Charge>) -> Result<(), String> {
    let lines = settle.into_iter().flat_map(|settle| &settle.lines);
    lines.into_iter().try_for_each(|line| {
        if !held.iter().any(|held| held.keys.last() == line.keys.last()) {
            let known: Vec<_> = held.iter().filter_map(|held| held.keys.last()).collect();
            return Err(format!(
                "settle.keys: expected one that ends with one of {known:?}, got {:?}",
                line.keys
            ));
        }
        let most = held.iter().filter(|held| held.keys == line.keys).map(|held| held.quantity).max();
        match most {
            Some(most) if held.len() == 1 && line.quantity > most => Err(format!(
                "settle.quantity: expected at most {most}, which was charged for {:?}, got {}",
                line.keys, line.quantity
            )),
            _ => Ok(()),
        }
    })
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
