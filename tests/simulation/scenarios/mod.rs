//! The tests: scenarios with a crash at every point, and plans made from seeds.

mod ambiguous;
mod crashes;
mod fleet;
mod joins;
mod outages;
mod seeds;
