//! The parameters as published: the schema of the surface. What is accepted is decided in `request`; a test holds the
//! two together.

use schemars::JsonSchema;

/// Embeddings. A field that is not listed goes along only where the model's `pass` has it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Params {
    /// A model of kind `embedding`.
    model: String,
    /// What vectors are made of, each text or list of tokens one vector.
    input: Input,
    /// The form of a vector; `float` by default.
    encoding_format: Option<Encoding>,
    /// Numbers of a vector, at models that have shorter ones.
    #[schemars(range(min = 1))]
    dimensions: Option<u32>,
    /// The client's own user, for the provider.
    user: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Input {
    Text(#[schemars(length(min = 1))] String),
    Texts(#[schemars(length(min = 1))] Vec<String>),
    Tokens(#[schemars(length(min = 1))] Vec<u32>),
    TokenLists(#[schemars(length(min = 1))] Vec<Vec<u32>>),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Encoding {
    /// An array of numbers.
    Float,
    /// 32-bit floats, the lowest byte first.
    Base64,
}
