//! A component that a browser sends: checked, or installed, and the stages it went through. The answer is a fragment
//! that the form's script puts below the form.

use gatehouse_admin::{ApiRequest, Component, FamilyDefaultsFile, PluginOffer, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::kinds::deployments::stages;
use crate::parts::elements::{Tone, chip};
use crate::parts::shell::html_response;
use crate::request::PageRequest;
use crate::resource::{members, text};

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
    let path: &[&str] = if installs { &["plugins"] } else { &["plugins", "check"] };
    let deployed = pages.ask(request, ApiRequest::post(path).json(&offer)).await;
    let (status, report) = match deployed {
        Ok(answer) => {
            let (done, plugin) = (&answer.body, &answer.body["plugin"]);
            let (family, version) = (text(plugin, "family"), text(plugin, "version"));
            let report = html! {
                @if installs {
                    h2 { (chip(Tone::Ok, "active")) " " (family) " " (version) " serves now" }
                    @if let Some(before) = done["replaced"].as_str() { p { "It replaces " code { (before.get(..12).unwrap_or(before)) } "." } }
                } @else {
                    h2 { (chip(Tone::Ok, "passed")) " " (family) " " (version) " passed every stage; nothing was switched" }
                }
                (stages(members(done, "stages")))
                (changes(members(done, "defaults")))
                @if installs { p { a.button href="/plugins?done=activated" { "Show the versions" } } }
            };
            (StatusCode::OK, report)
        }
        Err(refusal) => {
            let error = PageError::from(refusal);
            let report = html! {
                h2 { (chip(Tone::Error, "refused")) " Nothing was changed" }
                p { (error.message) }
                @if !error.stages.is_empty() { (stages(&error.stages)) }
            };
            (error.status, report)
        }
    };
    Ok(html_response(status, report))
}

/// What became of the defaults that a plugin brings.
fn changes(defaults: &[Value]) -> Markup {
    html! {
        @if !defaults.is_empty() {
            h3 { "Its defaults" }
            ul { @for change in defaults {
                @let of = |name: &str| text(change, name);
                li { code { (of("key")) } " " @match of("effect") {
                    "added" => { "is new: " code { (of("value")) } }
                    "changed" => { "was " code { (of("before")) } ", is " code { (of("value")) } }
                    "overridden" => { "stays " code { (of("by")) } ", set at " (of("at")) }
                    "removed" => { "goes, it was " code { (of("before")) } }
                    _ => { "stays" }
                } }
            } }
        }
    }
}
