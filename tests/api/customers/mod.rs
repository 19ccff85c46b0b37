//! What a customer may use, has, and has used.

mod limits;
mod money;
