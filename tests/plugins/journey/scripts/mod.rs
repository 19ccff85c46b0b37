//! The family played by scripts, as authors of any language write them.

mod bulk;
mod states;
