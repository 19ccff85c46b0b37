//! What both sides of the contract must agree on and `wit/v1` cannot say in types: the limits of an answer, the names that only the
//! host may use, the JSON documents that cross it (the manifest, an edit, the words for framings), and what a file in a text is.
//!
//! The SDK writes these documents and the host reads them, so each has one type. The host enforces the limits, and the test kit
//! enforces the same ones where no host is there. A crate of its own, because SDK and test kit are published and the host is not;
//! authors find its types in the SDK, under the same names.

mod edit;
mod embedded;
mod framing;
mod limits;
mod manifest;
mod parent;
mod raw;
mod route;

pub use edit::{Clip, Edit, Tile};
pub use embedded::{Payload, SNIFFED, decode_base64, encode_base64, payload, sniff, type_of};
pub use framing::Framing;
pub use limits::{
    MAX_CALL, MAX_FRESH_S, MAX_ITEMS, MAX_LINES, MAX_PASSES, MAX_WAIT, MIME_BYTES, NAME_BYTES, STATE_KIB,
    extends_price_key, is_claimable, is_host_header, is_mime, is_source, passes,
};
pub use manifest::{
    About, Model, ModelName, NameAt, NoSettings, Offers, PaceSettings, ParentAt, SelfTest, Surface, Verdict,
    is_kebab_case,
};
pub use parent::{FactsWritten, KindWritten, ParentWritten, SOME_TASK, StatusWritten};
pub use route::{
    HttpRoute, MAX_WORDS, Receipt, RouteMethod, RouteUse, check_path, is_below, path_parameter,
    paths_overlap, specified_routes,
};
