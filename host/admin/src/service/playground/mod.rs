//! What the playground asks for: requests as a key, and their inputs.

mod inputs;
mod send;

pub use inputs::ResultInput;
