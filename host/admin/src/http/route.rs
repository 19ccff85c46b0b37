//! One route: method, path, who may use it, what it takes, what it answers. A row of the table is one expression.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::call::{Call, Outcome};
use super::request::query::{PAGE, Parameter};
use crate::access::Role;

pub(crate) type Answer = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// What answers the calls of a route.
pub(crate) trait Handler: Send + Sync + 'static {
    fn answer(&self, call: Call) -> Answer;
}

impl<T, F> Handler for T
where
    T: Fn(Call) -> F + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    fn answer(&self, call: Call) -> Answer {
        Box::pin(self(call))
    }
}

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Where the API is.
pub(crate) const BASE: &str = "/admin/v1";

/// A row of the route table.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// Below `/admin/v1`; `{name}` stands for one segment.
    pub(crate) path: &'static str,
    /// The operation id, unique and camelCase, such as `createKey`.
    pub(crate) operation: &'static str,
    /// One sentence.
    pub(crate) summary: &'static str,
    /// The least role that may use it.
    pub(crate) role: Role,
    pub(crate) query: Vec<Parameter>,
    pub(crate) takes: Takes,
    pub(crate) answers: Answers,
    /// Whether it needs an `Idempotency-Key`.
    pub(crate) idempotent: bool,
    /// Whether it needs `If-Match`.
    pub(crate) conditional: bool,
    /// Whether a parameter names an object that may not be there.
    pub(crate) looks_up: bool,
    pub(crate) handler: Arc<dyn Handler>,
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    Json(SchemaOf),
    /// JSON Merge Patch of an object of this schema.
    Patch(SchemaOf),
    /// A file: `application/octet-stream`, or JSON of this schema with more that belongs to it.
    File(SchemaOf),
}

/// The answer when all goes well.
#[derive(Clone, Copy)]
pub(crate) struct Answers {
    pub(crate) status: u16,
    pub(crate) schema: Option<SchemaOf>,
    /// Whether it carries an `ETag`.
    pub(crate) tagged: bool,
    /// The content type, where it is text and no JSON.
    pub(crate) text: Option<&'static str>,
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl Route {
    /// A row. A GET is for viewers, everything else for operators, unless the row says so.
    fn new(method: Method, path: &'static str, operation: &'static str, handler: impl Handler) -> Self {
        let role = if method == Method::GET { Role::Viewer } else { Role::Operator };
        Self {
            method,
            path,
            operation,
            summary: "",
            role,
            query: Vec::new(),
            takes: Takes::Nothing,
            answers: Answers { status: 200, schema: None, tagged: false, text: None },
            idempotent: false,
            conditional: false,
            looks_up: false,
            handler: Arc::new(handler),
        }
    }

    pub(crate) fn get(path: &'static str, operation: &'static str, handler: impl Handler) -> Self {
        Self::new(Method::GET, path, operation, handler)
    }

    pub(crate) fn post(path: &'static str, operation: &'static str, handler: impl Handler) -> Self {
        Self::new(Method::POST, path, operation, handler)
    }

    pub(crate) fn patch(path: &'static str, operation: &'static str, handler: impl Handler) -> Self {
        Self { conditional: true, ..Self::new(Method::PATCH, path, operation, handler) }
    }

    pub(crate) fn delete(path: &'static str, operation: &'static str, handler: impl Handler) -> Self {
        Self::new(Method::DELETE, path, operation, handler)
    }

    /// What it does, one sentence.
    pub(crate) fn says(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// With these parameters.
    pub(crate) fn query(mut self, parameters: &[Parameter]) -> Self {
        self.query.extend_from_slice(parameters);
        self
    }

    /// A list: with `limit` and `cursor`.
    pub(crate) fn paged(self) -> Self {
        self.query(&PAGE)
    }

    /// With a JSON body of this type.
    pub(crate) fn body<T: JsonSchema>(self) -> Self {
        Self { takes: Takes::Json(schema_of::<T>), ..self }
    }

    /// With a merge patch of an object of this type.
    pub(crate) fn patches<T: JsonSchema>(self) -> Self {
        Self { takes: Takes::Patch(schema_of::<T>), ..self }
    }

    /// With the bytes of a file, or JSON of this type with more that belongs to it.
    pub(crate) fn file<T: JsonSchema>(self) -> Self {
        Self { takes: Takes::File(schema_of::<T>), ..self }
    }

    /// Answers with this type.
    pub(crate) fn returns<T: JsonSchema>(mut self) -> Self {
        self.answers.schema = Some(schema_of::<T>);
        self
    }

    /// Answers 201 with this type.
    pub(crate) fn creates<T: JsonSchema>(mut self) -> Self {
        self.answers.status = 201;
        self.returns::<T>()
    }

    /// Answers 204.
    pub(crate) fn returns_nothing(mut self) -> Self {
        self.answers.status = 204;
        self
    }

    /// Its answer carries an `ETag`, and it honours `If-None-Match`.
    pub(crate) fn tagged(mut self) -> Self {
        self.answers.tagged = true;
        self
    }

    /// Its answer is text of this type.
    pub(crate) fn returns_text(mut self, content_type: &'static str) -> Self {
        self.answers.text = Some(content_type);
        self
    }

    /// It needs an `Idempotency-Key`.
    pub(crate) fn idempotent(self) -> Self {
        Self { idempotent: true, ..self }
    }

    /// One of its parameters names an object: 404 where there is none.
    pub(crate) fn looks_up(self) -> Self {
        Self { looks_up: true, ..self }
    }

    /// For operators alone: a read that shows prompts.
    pub(crate) fn for_operators(self) -> Self {
        Self { role: Role::Operator, ..self }
    }

    /// Whether it changes nothing.
    pub(crate) fn is_safe(&self) -> bool {
        self.method == Method::GET
    }
}
