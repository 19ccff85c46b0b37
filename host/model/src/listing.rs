//! What loaded families offer to a caller, as the driver lists it, and documents and pages show it.

use crate::digest::Digest;

/// What a loaded family offers to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyListing {
    /// Its name.
    pub family: String,
    /// The semver of its active version.
    pub version: String,
    /// The digest of that version.
    pub digest: Digest,
    /// The surfaces on which it renders tasks itself.
    pub views: Vec<String>,
    /// Its least specific price keys, each of which needs a price.
    pub price_keys: Vec<String>,
    /// The surfaces that the caller may use; never empty.
    pub surfaces: Vec<SurfaceListing>,
}

/// One surface of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfaceListing {
    /// "images.generate", ...
    pub name: String,
    /// JSON Schema of its parameters.
    pub schema: String,
    /// JSON Schema of what its requests come to.
    pub result_schema: Option<String>,
    /// Ids and aliases that the caller may name, sorted; empty only where a surface reads.
    pub models: Vec<String>,
    /// The model meant when a request names none, if the caller may use it.
    pub default_model: Option<String>,
    /// A body that it accepts, JSON.
    pub example: Option<String>,
}
