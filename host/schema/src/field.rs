//! A field of a request as people read it: what it may be, its limits, its default and its help.

use serde_json::{Number, Value};

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// As clients write it.
    pub name: String,
    /// Whether a request must have it.
    pub required: bool,
    /// Whether `null` is allowed, which means the same as leaving it out.
    pub nullable: bool,
    /// What it may be.
    pub kind: Kind,
    /// `title`.
    pub title: Option<String>,
    /// `description`.
    pub help: Option<String>,
    /// What counts where it is left out.
    pub default: Option<Value>,
    /// Suggestions.
    pub examples: Vec<Value>,
    /// No longer recommended.
    pub deprecated: bool,
    /// How it is best entered: `text`, `size`, `seed`, `messages`, or as the address of a medium: `image-url`, `video-url`,
    /// `audio-url`, and with an `s` for several (`x-widget`).
    pub widget: Option<String>,
    /// Its position among the fields, where its schema says so (`x-order`).
    pub order: Option<i64>,
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A string.
    Text {
        /// Characters.
        length: Limits<u64>,
        /// A regular expression that it contains.
        pattern: Option<String>,
        /// `uri`, `date-time`, ...
        format: Option<String>,
    },
    /// One of a few values.
    Choice(Vec<Choice>),
    /// `true` or `false`.
    Boolean,
    /// A number. Limits are as written, so that 64-bit integers stay exact.
    Number {
        /// Without a fraction.
        integer: bool,
        /// The least and the greatest value.
        range: Limits<Number>,
        /// The value is less than, or greater than, its limit, never equal to it: (least, greatest).
        exclusive: (bool, bool),
        /// `multipleOf`.
        multiple_of: Option<Number>,
    },
    /// A list.
    List {
        /// Each of its items.
        item: Box<Kind>,
        /// Items.
        length: Limits<u64>,
        /// No item twice.
        unique: bool,
    },
    /// An object with these fields, in the order to show them.
    Object(Vec<Field>),
    /// One of several forms.
    Variants(Vec<Variant>),
    /// An object with any names, and values of this kind.
    Map(Box<Kind>),
    /// Any JSON: what a schema can say and a form cannot.
    Json,
}

/// The least and the greatest value, both allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits<T> {
    /// The least.
    pub min: Option<T>,
    /// The greatest.
    pub max: Option<T>,
}

/// One value of a few.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The value.
    pub value: Value,
    /// What it means.
    pub help: Option<String>,
}

/// One of several forms of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What tells it from the others: the value of its tag, its title, or its type.
    pub name: String,
    /// What it means.
    pub help: Option<String>,
    /// What it may be.
    pub kind: Kind,
}
