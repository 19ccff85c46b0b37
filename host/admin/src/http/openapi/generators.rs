//! The schemas of types, collected under the document's components.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schemas of what goes in and of what comes out.
pub(super) struct Generators {
    pub(super) requests: SchemaGenerator,
    pub(super) answers: SchemaGenerator,
}

impl Generators {
    pub(super) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    pub(super) fn schemas(mut self) -> Map<String, Value> {
        let mut schemas: Map<String, Value> = self.answers.take_definitions(true).into_iter().collect();
        // A type that is used both ways keeps its answer's form: it has the same fields.
        for (name, schema) in self.requests.take_definitions(true) {
            schemas.entry(name).or_insert(schema);
        }
        schemas
    }
}
