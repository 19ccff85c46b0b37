//! JSON that keeps its bytes: objects with unread values, strings with their escapes, a writer, edits and templates.
//! What a family passes on is copied from here byte for byte. Never checks; `check` does.

mod edits;
mod object;
mod string;
mod template;
mod writer;

pub use edits::Edits;
pub use object::{Object, UniqueObject, count, is_null, items, last_members, whole};
pub use string::{JsonString, Raw};
pub use template::Repeated;
pub use writer::{Writer, quote, quoted};
