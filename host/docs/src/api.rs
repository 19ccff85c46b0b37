//! What the documentation is made of.

use gatehouse_model::FamilyListing;

/// The extension of an operation that makes tasks: the schema of their result.
pub(crate) const RESULT: &str = "x-gatehouse-result";

/// The API as one caller may use it.
#[derive(Clone, Debug, Default)]
pub struct Api {
    /// Every documented route. One whose surface no family serves is left out of the document.
    pub operations: Vec<Operation>,
    /// The loaded families, with what they serve to this caller.
    pub families: Vec<FamilyListing>,
    /// Every error a client can get.
    pub errors: Vec<ErrorCase>,
}

/// One route.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// With at most one parameter in braces.
    pub path: &'static str,
    /// Unique in the document.
    pub id: String,
    /// The group it is shown in.
    pub tag: &'static str,
    /// One line.
    pub summary: String,
    /// More than a line; may be empty.
    pub description: &'static str,
    /// What the path's parameter is; empty without one.
    pub path_parameter: &'static str,
    /// Query parameters and headers.
    pub parameters: &'static [Parameter],
    /// The surface whose schemas the body has; `None` without a body.
    pub surface: Option<&'static str>,
    /// The component that the body has where the host describes it, and the surface of the families that serve it; `None`
    /// where their schemas do.
    pub own_body: Option<OwnBody>,
    /// Whether a request must name its model in the body. Otherwise the path says which.
    pub model_in_body: bool,
    /// Whether it makes a task, whose end may be told to an address.
    pub makes_task: bool,
    /// Whether the body may be a form as well.
    pub takes_forms: bool,
    /// The surface whose schema describes the parameters of the query; `None` where the host does.
    pub reads: Option<&'static str>,
    /// The surface on which a family renders tasks itself, if the route is for that.
    pub view: Option<&'static str>,
    /// The answers of status 200, and others that are no errors.
    pub answers: Vec<Answer>,
    /// The form of its errors.
    pub form: ErrorForm,
    /// Whether it needs a key, and where it may stand.
    pub security: Security,
}

/// A body that the host describes.
#[derive(Clone, Copy, Debug)]
pub struct OwnBody {
    /// One of the document's components.
    pub component: &'static str,
    /// The operation is left out where no family serves this surface; without one its body names no model.
    pub surface: Option<&'static str>,
    /// One that is accepted, JSON.
    pub example: &'static str,
}

/// A query parameter or a header.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// `query` or `header`.
    pub at: &'static str,
    /// JSON Schema of it.
    pub schema: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// An answer that is no error.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// What it is.
    pub help: &'static str,
    /// Its body, in each form it may have; none for an answer without body.
    pub contents: &'static [Content],
}

/// A body of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// JSON: one of these components of the document.
    Json(&'static [&'static str]),
    /// Server-sent events; what they are, and the component of their data if they share one.
    Events(&'static str, Option<&'static str>),
    /// A page for people.
    Html,
    /// Anything else, of these types.
    Bytes(&'static [&'static str]),
}

/// Which envelope an endpoint's errors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorForm {
    /// `{"error": {"code", "message", "type", "reason", "param"}}`.
    Generic,
    /// The same with the journey family's words.
    Journey,
    /// That of the messages protocol.
    Messages,
    /// That of the responses protocol.
    Responses,
    /// The same, with the statuses of the others.
    OpenAi,
    /// That, or that of the messages protocol, as the client's headers say.
    Models,
}

/// Whether an operation needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// As bearer token.
    Key,
    /// As bearer token or in `x-api-key`.
    KeyInEither,
    /// It works without, and says more with one.
    Optional,
    /// None is read.
    Open,
}

/// One error of the table.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCase {
    /// HTTP status in all forms but that of responses.
    pub status: u16,
    /// HTTP status in the form of responses.
    pub responses_status: u16,
    /// `error.type` of the generic form.
    pub type_word: &'static str,
    /// `error.type` of the journey form.
    pub journey_word: &'static str,
    /// `error.reason` of the generic form.
    pub reason: &'static str,
    /// `error.code` of the messages form.
    pub messages_code: &'static str,
    /// Whether the same request may succeed later.
    pub retry: bool,
}
