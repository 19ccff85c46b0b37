//! The manifest of a family.

use schemars::JsonSchema;
use serde_json::Value;

pub use crate::bindings::exports::gatehouse::family::manifest::{
    About, Model, NameAt, ParentAt, SelfTest, Surface, Verdict,
};

use super::parent::Parent;

/// Builders. The host reads the manifest once when a version is loaded, before it can become active.
///
/// ```
/// use gatehouse_sdk::{About, Model, Surface, Verdict};
/// use schemars::JsonSchema;
/// use serde_json::json;
///
/// #[derive(JsonSchema)]
/// struct Params {
///     #[expect(dead_code, reason = "read by serde in a real family")]
///     prompt: String,
/// }
///
/// let about = About::new("painter", "1.2.0")
///     .model(Model::new("painter-1").alias("painter-1-ext").serves("images.generate"))
///     .surface(Surface::new::<Params>("images.generate"))
///     .provider("painter")
///     .price_key("painter-1")
///     .self_test("images.generate", json!({"model": "painter-1", "prompt": "a kite"}), Verdict::Accepted);
/// assert_eq!(about.models[0].aliases, ["painter-1-ext"]);
/// ```
impl About {
    /// A family of that name; `version` is usually `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn new(family: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            family: family.into(),
            version: version.into(),
            models: Vec::new(),
            surfaces: Vec::new(),
            dialects: Vec::new(),
            providers: Vec::new(),
            price_keys: Vec::new(),
            state_version: 0,
            reads_state: Vec::new(),
            self_tests: Vec::new(),
        }
    }

    /// Adds a model.
    #[must_use]
    pub fn model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }

    /// Adds a surface.
    #[must_use]
    pub fn surface(mut self, surface: Surface) -> Self {
        self.surfaces.push(surface);
        self
    }

    /// Adds a text protocol that the family speaks: [`Dialect`](crate::Dialect). An operator names it as `protocol` of a model.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialects.push(name.into());
        self
    }

    /// Adds a provider the operator must configure.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.providers.push(name.into());
        self
    }

    /// Adds a price key with which a charge may end. The operator must set a price for it.
    #[must_use]
    pub fn price_key(mut self, key: impl Into<String>) -> Self {
        self.price_keys.push(key.into());
        self
    }

    /// Adds a request with a known answer, which the host checks before every switch.
    #[must_use]
    pub fn self_test(self, surface: impl Into<String>, body: Value, expect: Verdict) -> Self {
        self.self_test_of(surface, body, Vec::new(), expect)
    }

    /// The same with the tasks that the request follows up.
    #[must_use]
    pub fn self_test_of(
        mut self,
        surface: impl Into<String>,
        body: Value,
        parents: Vec<Parent>,
        expect: Verdict,
    ) -> Self {
        self.self_tests.push(SelfTest {
            surface: surface.into(),
            body: body.to_string(),
            parents: parents.into_iter().map(Into::into).collect(),
            expect,
        });
        self
    }
}

impl Model {
    /// A model without aliases or surfaces.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), aliases: Vec::new(), surfaces: Vec::new() }
    }

    /// Adds another name for it.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }

    /// Adds a surface it serves.
    #[must_use]
    pub fn serves(mut self, surface: impl Into<String>) -> Self {
        self.surfaces.push(surface.into());
        self
    }
}

impl Surface {
    /// A surface whose parameters have the shape of `P`.
    #[must_use]
    pub fn new<P: JsonSchema>(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            default_model: None,
            schema: schemars::schema_for!(P).to_value().to_string(),
            parent: ParentAt::Nowhere,
            joins: false,
            names: Vec::new(),
        }
    }

    /// A request follows up the task in its path.
    #[must_use]
    pub fn parent_in_path(mut self) -> Self {
        self.parent = ParentAt::Path;
        self
    }

    /// A request follows up the task, or the tasks, named in a field of its body.
    #[must_use]
    pub fn parent_in(mut self, field: impl Into<String>) -> Self {
        self.parent = ParentAt::Field(field.into());
        self
    }

    /// A request joins its living parent instead of making a task. The parent's time limit starts anew.
    #[must_use]
    pub fn joins(mut self) -> Self {
        self.joins = true;
        self
    }

    /// A string `<scheme>://...` anywhere in the body may be a name that the customer owns.
    #[must_use]
    pub fn names_with_scheme(mut self, scheme: impl Into<String>) -> Self {
        self.names.push(NameAt::Scheme(scheme.into()));
        self
    }

    /// A field of the body holds a name that the customer may own, or a list of such names.
    #[must_use]
    pub fn names_in(mut self, field: impl Into<String>) -> Self {
        self.names.push(NameAt::Field(field.into()));
        self
    }

    /// Names the model meant when a request names none.
    #[must_use]
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }
}
