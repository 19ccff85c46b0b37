//! A component that a browser sends: checked, or installed, and the stages it went through. The answer is a fragment
//! that the form's script puts below the form.

use gatehouse_admin::{
    Component, DefaultEffect, DefaultView, FamilyDefaultsFile, OperationError, PluginOffer, PluginOutcome,
    ResponseBody, StageView,
};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::format::digest;
use crate::kinds::deployments;
use crate::parts::elements::{Tone, chip};
use crate::parts::shell::html_response;
use crate::request::PageRequest;

/// What a browser sends: the form with its files, or the component's bytes alone, with the fields behind the question mark.
async fn read(request: &PageRequest) -> Result<(Form, PluginOffer), PageError> {
    let (fields, files) = request.form_with_files().await?;
    if files.is_empty() {
        let offer = PluginOffer::of(Component(request.body.to_vec()));
        let fields = request.query.clone();
        let allow_removal = fields.is_on("allow_removal");
        return Ok((fields, PluginOffer { allow_removal, ..offer }));
    }
    let file = |name: &str| files.iter().find(|file| file.name == name).map(|file| &file.bytes);
    let text = |name: &str| {
        let bytes = file(name)?;
        let why = format!("{name}: expected text in UTF-8");
        Some(String::from_utf8(bytes.to_vec()).map_err(|_| PageError::new(StatusCode::BAD_REQUEST, why)))
    };
    let missing = || PageError::new(StatusCode::BAD_REQUEST, "component: choose a file".to_owned());
    let component = Component(file("component").ok_or_else(missing)?.to_vec());
    let defaults = text("defaults").transpose()?;
    let offer = PluginOffer {
        signature: text("signature").transpose()?,
        allow_removal: fields.is_on("allow_removal"),
        defaults: defaults.map(|text| FamilyDefaultsFile { name: "family.toml".to_owned(), text }),
        ..PluginOffer::of(component)
    };
    Ok((fields, offer))
}

/// `POST /plugins/upload`, with `do` install or check.
pub(crate) async fn take(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (fields, offer) = read(request).await?;
    let installs = fields.text("do") == "install";
    let outcome = match installs {
        true => pages.service.install_plugin(offer).await,
        false => pages.service.check_plugin(offer).await,
    };
    let (status, report) = match outcome {
        Ok(PluginOutcome { plugin, replaced, stages: all, defaults }) => {
            let report = html! {
                @if installs {
                    h2 { (chip(Tone::Ok, "active")) " " (plugin.family) " " (plugin.version) " serves now" }
                    @if let Some(before) = replaced { p { "It replaces " (digest(&before)) "." } }
                } @else {
                    h2 { (chip(Tone::Ok, "passed")) " " (plugin.family) " " (plugin.version) " passed every stage; nothing was switched" }
                }
                (stages(&all))
                (changes(&defaults))
                @if installs { p { a.button href="/plugins?done=activated" { "Show the versions" } } }
            };
            (StatusCode::OK, report)
        }
        Err(OperationError::PluginRefused { reason, stages: all }) => {
            let report = html! {
                h2 { (chip(Tone::Error, "refused")) " Nothing was changed" }
                p { (reason) }
                (stages(&all))
            };
            (StatusCode::CONFLICT, report)
        }
        Err(error) => {
            let error = PageError::from(error);
            (
                error.status,
                html! { h2 { (chip(Tone::Error, "refused")) " Nothing was changed" } p { (error.message) } },
            )
        }
    };
    Ok(html_response(status, report))
}

fn stages(all: &[StageView]) -> Markup {
    let all: Vec<_> = all.iter().map(|stage| serde_json::json!(stage)).collect();
    deployments::stages(&all)
}

/// What became of the defaults that a plugin brings.
fn changes(defaults: &[DefaultView]) -> Markup {
    html! {
        @if !defaults.is_empty() {
            h3 { "Its defaults" }
            ul { @for change in defaults {
                li { code { (change.key) } " " @match &change.effect {
                    DefaultEffect::Added => { "is new: " code { (change.value) } }
                    DefaultEffect::Changed { before } => { "was " code { (before) } ", is " code { (change.value) } }
                    DefaultEffect::Unchanged => { "stays" }
                    DefaultEffect::Overridden { by, at } => { "stays " code { (by) } ", set at " (at) }
                    DefaultEffect::Removed { before } => { "goes, it was " code { (before) } }
                } }
            } }
        }
    }
}
