//! The page that shows a new secret, once.

use gatehouse_admin::ResponseBody;
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use super::{Resource, text};
use crate::context::PageContext;
use crate::parts::elements::paste;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// What is shown of an object that was made with a secret.
pub(crate) struct Secret {
    /// The member of the answer with the object; the secret is in `secret`.
    pub(crate) object: &'static str,
    pub(crate) heading: &'static str,
    /// The element with the secret, and what it is called.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// What the gateway keeps of it.
    pub(crate) kept: &'static str,
    /// Where a person goes on who has stored it.
    pub(crate) next: fn(id: &str) -> String,
    /// How it is used.
    pub(crate) more: fn(&PageContext, &Value, &str) -> Markup,
}

impl Secret {
    /// The only page that ever shows it.
    pub(crate) fn show(
        &self,
        pages: &PageContext,
        request: &PageRequest,
        resource: &Resource,
        answer: &Value,
    ) -> Response<ResponseBody> {
        let (object, secret) = (&answer[self.object], text(answer, "secret"));
        let shell = Shell::new(request, pages.facts.sandbox.is_some(), resource.section, self.heading);
        shell.page(
            StatusCode::CREATED,
            &html! {
                p.crumbs { a href=(resource.path) { (resource.names.0) } }
                h1 { (self.heading) ": " bdi { (text(object, resource.name)) } }
                section.report data-warns-before-leaving {
                    p { strong { "This is the " (self.name) ". It is shown this one time." } " " (self.kept) }
                    (paste(self.id, &format!("The new {}", self.name), secret))
                    div.buttons { a.button.primary href=((self.next)(&resource.id_of(object))) data-leaves { "I have stored it" } }
                }
                ((self.more)(pages, object, secret))
            },
        )
    }
}
