//! Which models this gateway can serve: those of active families, whose providers have an account here. Any
//! other is neither listed nor accepted: its task would fail later, and its client could not tell why.

use gatehouse_model::{About, TextRoute};
use gatehouse_runtime::{PluginService, Registry, Unserved};
use gatehouse_upstream::Upstream;

use crate::config::tables::Tables;
use crate::errors::SubmitError;
use crate::models::table::TextModel;

const NO_ACCOUNT: &str = "this gateway has no account at its provider";
const SWITCHED_OFF: &str = "the operator has switched it off";
const NO_PLUGIN: &str = "no plugin serves it";

/// Answers what this gateway can serve now.
pub(crate) struct Served {
    pub(crate) plugins: PluginService,
    pub(crate) upstream: Upstream,
}

impl Served {
    /// The refusal of a model that nobody has. While families start, it may be one of theirs.
    pub(crate) fn unknown_model(&self, requested: String) -> SubmitError {
        self.starting().unwrap_or(SubmitError::UnknownModel(requested))
    }

    /// The refusal of what a family that has not started yet may serve; `None` once all have.
    pub(crate) fn starting(&self) -> Option<SubmitError> {
        let families = self.plugins.families_not_ready();
        (!families.is_empty()).then(|| SubmitError::Starting(families.join(", ")))
    }

    /// The refusal of a request that names no model, where no family has one for it.
    pub(crate) fn no_default_model(&self) -> SubmitError {
        self.starting().unwrap_or_else(SubmitError::no_model)
    }

    /// Refuses a job of a family that needs a provider without an account.
    pub(crate) fn check_job_providers(&self, model: &str, about: &About) -> Result<(), SubmitError> {
        self.lacking_provider(about).map_or(Ok(()), |provider| Err(self.without_account(model, &provider)))
    }

    /// Refuses a text of the model of that id where no provider of it has an account.
    pub(crate) fn check_text_provider(&self, tables: &Tables, model: &str) -> Result<(), SubmitError> {
        let mut targets = tables.models.targets(model).iter();
        if targets.any(|target| tables.upstream.knows(&target.route.provider)) {
            return Ok(());
        }
        Err(self.without_account(model, tables.models.provider(model)))
    }

    /// Whether a target can be asked now.
    pub(crate) fn can_serve(&self, tables: &Tables, route: &TextRoute) -> bool {
        can_serve(&self.plugins.registry(), tables, route)
    }

    /// The refusal of a text whose model has no target that can be asked.
    pub(crate) fn no_target(&self, tables: &Tables, model: &TextModel) -> SubmitError {
        let reachable = model.targets.iter().filter(|target| tables.upstream.knows(&target.route.provider));
        let mut dialects = reachable.filter_map(|target| target.route.protocol.dialect());
        match dialects.next() {
            Some(dialect) => self.no_dialect(&model.id, dialect),
            None => self.without_account(&model.id, &model.targets[0].route.provider),
        }
    }

    /// The refusal of a job whose model no active family has.
    pub(crate) fn no_job_model(&self, registry: &Registry, model: &str) -> SubmitError {
        let Some(family) = registry.disabled_family(model) else {
            return self.unknown_model(model.to_owned());
        };
        tracing::warn!(
            model,
            family,
            "a request asks for a model whose family is switched off: `gatehouse plugin list` shows it, and `gatehouse plugin \
             enable FAMILY` switches it on"
        );
        self.not_served(model, SWITCHED_OFF)
    }

    /// The refusal of a text whose model is configured and whose surface no active family serves. The family may be switched off,
    /// broken or not installed: the surface alone does not tell.
    pub(crate) fn no_text_family(&self, model: &str, surface: &str) -> SubmitError {
        if let Some(starting) = self.starting() {
            return starting;
        }
        tracing::warn!(
            model,
            surface,
            "a request asks for a text model on a surface that no active plugin serves: `gatehouse plugin list` shows which \
             families are switched off, failed or missing"
        );
        self.not_served(model, NO_PLUGIN)
    }

    /// The refusal of a text whose model's dialect no active family speaks.
    pub(crate) fn no_dialect(&self, model: &str, dialect: &str) -> SubmitError {
        if let Some(starting) = self.starting() {
            return starting;
        }
        let dialects = self.plugins.registry().dialects();
        tracing::warn!(
            model,
            dialect,
            ?dialects,
            "a request asks for a model whose provider speaks a dialect that no active plugin speaks: `gatehouse plugin list` \
             shows which families are switched off, failed or missing"
        );
        self.not_served(model, NO_PLUGIN)
    }

    /// Whether every provider that the family's jobs need has an account. What belongs to some of its jobs only is optional,
    /// and no such provider keeps the others from being served.
    pub(crate) fn serves_family(&self, about: &About) -> bool {
        self.lacking_provider(about).is_none()
    }

    /// The same of an active family, by its name.
    pub(crate) fn serves_family_of(&self, registry: &Registry, family: &str) -> bool {
        registry.family(family).is_some_and(|version| self.serves_family(version.about()))
    }

    fn lacking_provider(&self, about: &About) -> Option<String> {
        let config = self.plugins.config();
        // Without an inventory nobody says what is optional: tests and tools have none.
        let optional = &config.inventory.as_ref()?.optional;
        let mut needed = about.providers.iter().filter(|name| !optional.contains(*name));
        needed.find(|name| !self.upstream.knows(name)).cloned()
    }

    fn without_account(&self, model: &str, provider: &str) -> SubmitError {
        tracing::warn!(
            model,
            provider,
            "a request asks for a model whose provider has no account: write [providers.{provider}.accounts.main] with its \
             secret, and run `gatehouse reload`"
        );
        self.not_served(model, NO_ACCOUNT)
    }

    /// The refusal of a path of a family that is off; `None` where it is told as one that never was.
    pub(crate) fn path_switched_off(&self, path: &str, family: &str) -> Option<SubmitError> {
        tracing::warn!(
            path,
            family,
            "a request comes to a path whose family is switched off: `gatehouse plugin list` shows it, and `gatehouse plugin \
             enable FAMILY` switches it on"
        );
        match self.plugins.config().unserved {
            Unserved::Unavailable => Some(SubmitError::PathSwitchedOff(path.to_owned())),
            Unserved::NotFound => None,
        }
    }

    /// The refusal, as the operator wants it told.
    fn not_served(&self, model: &str, reason: &'static str) -> SubmitError {
        let model = model.to_owned();
        match self.plugins.config().unserved {
            Unserved::Unavailable => SubmitError::NotServed { model, reason },
            Unserved::NotFound => SubmitError::UnknownModel(model),
        }
    }
}

/// Whether the text model of that id has a target with an account at its provider and a family that speaks the
/// provider's dialect.
pub(crate) fn serves_text(registry: &Registry, tables: &Tables, id: &str) -> bool {
    let targets = tables.models.targets(id).iter();
    targets.map(|target| &target.route).any(|route| can_serve(registry, tables, route))
}

/// Whether a target can be asked: its provider has an account, and a family speaks its dialect.
fn can_serve(registry: &Registry, tables: &Tables, route: &TextRoute) -> bool {
    let is_spoken = |dialect: &str| registry.dialect(dialect).is_some();
    tables.upstream.knows(&route.provider) && route.protocol.dialect().is_none_or(is_spoken)
}
