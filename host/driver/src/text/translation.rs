//! A request as one target's provider reads it. The same request is translated again for every target that is tried: each has
//! its own protocol, and its own name of the model.

use std::sync::Arc;

use gatehouse_model::{Context, Facts, Header, Json, KeyId, Prepared, TextRequest, TextRoute};
use gatehouse_runtime::{PreparedText, RequestInstance, ServedBy, Version};

use crate::errors::SubmitError;
use crate::request_report::{RequestReport, plugin_span};
use crate::served::Served;
use crate::shared::Shared;
use crate::submit::refusal::{fault_error, refusal_error};
use crate::text::api::TextError;
use crate::text::attempt::plugin_fault;
use crate::text::dialect::{DialectRun, Neutral, route_of_family};

/// What is translated.
pub(super) struct Source {
    pub(super) surface: &'static str,
    /// Long media cut out.
    pub(super) body: Json,
    pub(super) headers: Vec<Header>,
    /// Facts about the blobs cut out of `body`.
    pub(super) blobs: Vec<Facts>,
    pub(super) key: KeyId,
    /// Where its trace is, if it has one.
    pub(super) report: RequestReport,
    /// Nothing is sent.
    pub(super) only_asks: bool,
    /// A price is the text family's to say: no dialect is needed.
    pub(super) only_price: bool,
    /// The version that serves the surface.
    pub(super) version: Arc<Version>,
}

/// What was made of it.
pub(super) struct Translated {
    /// The version that made it: the surface's, or its standby.
    pub(super) version: Arc<Version>,
    pub(super) prepared: Prepared,
    /// The instance that prepared it, for the first answer; a stream's permit.
    pub(super) instance: Option<Box<RequestInstance>>,
    pub(super) dialect: Option<DialectRun>,
}

/// Has plugins translate requests for their targets.
pub(crate) struct Translator {
    pub(crate) shared: Arc<Shared>,
    pub(crate) served: Arc<Served>,
}

impl Translator {
    pub(super) async fn translated(
        &self,
        source: &Source,
        cx: &Context,
        route: &TextRoute,
    ) -> Result<Translated, TextError> {
        let speaker = if source.only_price { None } else { self.speaker(route)? };
        let (version, PreparedText { prepared, instance }) =
            self.prepare(source, cx, route, source.only_asks).await?;
        let dialect = match speaker {
            Some(speaker) => {
                let neutral =
                    Neutral { version: &version, cx, prepared: &prepared, blobs: source.blobs.clone() };
                Some(self.translate(source, speaker, route, neutral).await?)
            }
            None => None,
        };
        Ok(Translated { version, prepared, instance, dialect })
    }

    /// The request as that target's text family would write it. Nothing is sent, so no dialect is needed.
    pub(super) async fn as_priced(
        &self,
        source: &Source,
        cx: &Context,
        route: &TextRoute,
    ) -> Result<Prepared, SubmitError> {
        let (_, PreparedText { prepared, .. }) = self.prepare(source, cx, route, true).await?;
        Ok(prepared)
    }

    async fn prepare(
        &self,
        source: &Source,
        cx: &Context,
        route: &TextRoute,
        only_asks: bool,
    ) -> Result<(Arc<Version>, PreparedText), SubmitError> {
        let text_request = TextRequest {
            surface: source.surface.to_owned(),
            body: source.body.clone(),
            headers: source.headers.clone(),
            blobs: source.blobs.clone(),
            route: route_of_family(route),
        };
        let (plugins, version) = (self.shared.plugins.for_key(&source.key), &source.version);
        let _span = plugin_span(&source.report, "plugin prepare", version);
        match plugins.prepare_text(version, cx.clone(), text_request, only_asks).await {
            Ok(ServedBy { by, answer: Ok(prepared) }) => Ok((by, prepared)),
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refusal_error(refusal)),
            Err(fault) => Err(fault_error(fault, |fault| plugin_fault(version, &fault))),
        }
    }
}
