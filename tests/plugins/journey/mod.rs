//! The family as the host meets it: every script runs natively and as the built component.

mod billing;
mod checks;
mod codes;
mod follow_ups;
mod modal;
mod polling;
mod refusals;
mod results;
mod scripts;
mod submissions;
mod support;
mod views;

use std::sync::LazyLock;

use gatehouse_play::Component;
use gatehouse_testkit::{Script, check_family};
use journey::Journey;

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("journey"));

/// Plays it both ways.
fn play(script: &Script) {
    script.run_native::<Journey>();
    script.run(&*COMPONENT);
}

#[test]
fn the_self_tests_hold() {
    check_family::<Journey>();
    assert_eq!(COMPONENT.family(), "journey");
}
