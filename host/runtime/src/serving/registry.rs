//! The registry: an immutable table of the serving versions, replaced as a whole. A request reads it once and keeps
//! the version it found.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gatehouse_model::{About, Digest, FormTypes, RouteInfo, RouteUse, UnixMs, paths_overlap};

use crate::config::Inventory;
use crate::serving::forms;
use crate::stages::fit::FitError;
use crate::stages::routes::may_serve;
use crate::version::loaded::Version;

/// The active version of every family, and their models by every name.
#[derive(Debug, Default)]
pub struct Registry {
    families: BTreeMap<String, Active>,
    /// Model ids and aliases.
    names: HashMap<String, ModelName>,
    /// Surface to the model id meant when a request names none.
    defaults: HashMap<String, String>,
    /// Families that are switched off.
    pub(crate) disabled: BTreeMap<String, DisabledFamily>,
    /// Every route of both.
    routes: Arc<[ServedRoute]>,
    /// What the configuration allows; `None` where all is.
    inventory: Option<Arc<Inventory>>,
}

/// A route that a family of this gateway declares. Several families may serve one, each with its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedRoute {
    /// As the manifest has it.
    pub route: RouteInfo,
    /// A family that serves it, or would if it were not switched off.
    pub family: String,
    /// Whether no active family serves it.
    pub is_off: bool,
    /// What the texts of a form stand for; `None` where its body is JSON.
    pub form: Option<FormTypes>,
}

/// What switched a family off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disabled {
    /// An operator, at that time.
    ByOperator(UnixMs),
    /// `enabled = false` in the configuration.
    ByConfiguration,
}

/// A family's serving version.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    pub(crate) version: Arc<Version>,
    pub(crate) since: UnixMs,
}

/// A family that is switched off.
#[derive(Clone, Debug)]
pub(crate) struct DisabledFamily {
    /// The version that would serve.
    pub(crate) digest: Digest,
    pub(crate) by: Disabled,
    /// Every name of its models, as far as they are known.
    pub(crate) names: Vec<String>,
    /// Its routes, as far as they are known.
    pub(crate) routes: Vec<RouteInfo>,
}

#[derive(Debug)]
struct ModelName {
    family: String,
    model: String,
}

/// The version and model for a request.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The version.
    pub version: Arc<Version>,
    /// The model's own id.
    pub model: String,
}

/// One name of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// Id or alias.
    pub id: String,
    /// The model's own id.
    pub model: String,
    /// The family that serves it.
    pub family: String,
    /// The surfaces it serves.
    pub surfaces: Vec<String>,
    /// What it makes, where its family says so.
    pub modality: Option<String>,
    /// When the version serving it was activated.
    pub since: UnixMs,
}

impl Registry {
    /// The version that serves `model` (id or alias) on `surface`.
    #[must_use]
    pub fn resolve(&self, surface: &str, model: &str) -> Option<Resolved> {
        let name = self.names.get(model)?;
        let version = &self.families.get(&name.family)?.version;
        let serves = version.serves(surface, &name.model);
        serves.then(|| Resolved { version: Arc::clone(version), model: name.model.clone() })
    }

    /// The own id of a model by any of its names.
    #[must_use]
    pub fn model_id(&self, name: &str) -> Option<&str> {
        self.names.get(name).map(|found| found.model.as_str())
    }

    /// The version and model meant when a request on `surface` names no model.
    #[must_use]
    pub fn default_model(&self, surface: &str) -> Option<Resolved> {
        self.resolve(surface, self.defaults.get(surface)?)
    }

    /// The version whose text half serves `surface`.
    #[must_use]
    pub fn text(&self, surface: &str) -> Option<Arc<Version>> {
        self.active()
            .find(|active| active.version.serves_text(surface))
            .map(|active| Arc::clone(&active.version))
    }

    /// The version whose dialect half speaks `dialect`.
    #[must_use]
    pub fn dialect(&self, dialect: &str) -> Option<Arc<Version>> {
        self.active().find(|active| active.version.speaks(dialect)).map(|active| Arc::clone(&active.version))
    }

    /// Every dialect that a family speaks.
    #[must_use]
    pub fn dialects(&self) -> Vec<String> {
        self.active().flat_map(|active| active.version.about().dialects.iter().cloned()).collect()
    }

    /// Every surface served by a text half, and since when.
    #[must_use]
    pub fn text_surfaces(&self) -> Vec<(String, UnixMs)> {
        let texts = self.active().filter(|active| active.version.about().offers.text);
        texts
            .flat_map(|active| {
                active.version.about().surfaces.iter().map(|own| (own.name.clone(), active.since))
            })
            .collect()
    }

    /// Every name of every model, sorted.
    #[must_use]
    pub fn models(&self) -> Vec<ModelRow> {
        let mut rows: Vec<ModelRow> = self.names.iter().filter_map(|(id, name)| self.row(id, name)).collect();
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows
    }

    fn row(&self, id: &str, name: &ModelName) -> Option<ModelRow> {
        let active = self.families.get(&name.family)?;
        let info = active.version.about().models.iter().find(|info| info.id == name.model)?;
        Some(ModelRow {
            id: id.to_owned(),
            model: name.model.clone(),
            family: name.family.clone(),
            surfaces: info.surfaces.clone(),
            modality: info.modality.clone(),
            since: active.since,
        })
    }

    /// The active version of `family`.
    #[must_use]
    pub fn family(&self, family: &str) -> Option<Arc<Version>> {
        self.families.get(family).map(|active| Arc::clone(&active.version))
    }

    /// The active version of every family, by the family's name.
    #[must_use]
    pub fn versions(&self) -> Vec<Arc<Version>> {
        self.active().map(|active| Arc::clone(&active.version)).collect()
    }

    /// Every route of the families that the configuration allows, each once. The same value as long as no family is switched.
    #[must_use]
    pub fn routes(&self) -> &Arc<[ServedRoute]> {
        &self.routes
    }

    /// The family that is switched off and would serve `model` (id or alias).
    #[must_use]
    pub fn disabled_family(&self, model: &str) -> Option<&str> {
        if self.names.contains_key(model) {
            return None;
        }
        let mut disabled = self.disabled.iter();
        disabled
            .find(|(_, off)| off.names.iter().any(|name| name == model))
            .map(|(family, _)| family.as_str())
    }

    pub(crate) fn active(&self) -> impl Iterator<Item = &Active> {
        self.families.values()
    }

    pub(crate) fn is_active(&self, digest: &Digest) -> bool {
        self.active().any(|active| active.version.digest() == *digest)
    }

    /// Whether a version with this manifest fits beside the other families; it may replace one of its own family.
    pub(crate) fn fits(&self, about: &About) -> Result<(), FitError> {
        let clash = |what, name: &str, family: &str, remedy| {
            Err(FitError::Clash { what, name: name.to_owned(), family: family.to_owned(), remedy })
        };
        for id in about.models.iter().flat_map(|model| std::iter::once(&model.id).chain(&model.aliases)) {
            if let Some(name) = self.names.get(id).filter(|name| name.family != about.family) {
                return clash("model", id, &name.family, "give the model another name");
            }
        }
        let is_other = |owner: &Arc<Version>| owner.family() != about.family;
        for surface in about.surfaces.iter().filter(|_| about.offers.text) {
            if let Some(owner) = self.text(&surface.name).filter(is_other) {
                let remedy = "one family serves a text surface: take it out of the manifest";
                return clash("text surface", &surface.name, owner.family(), remedy);
            }
        }
        for dialect in &about.dialects {
            if let Some(owner) = self.dialect(dialect).filter(is_other) {
                let remedy = "one family speaks a dialect: give it another name";
                return clash("dialect", dialect, owner.family(), remedy);
            }
        }
        for surface in about.surfaces.iter().filter(|surface| surface.default_model.is_some()) {
            let owner = self.defaults.get(&surface.name).and_then(|model| self.names.get(model));
            if let Some(owner) = owner.filter(|name| name.family != about.family) {
                let remedy = "leave `default_model` out: requests then name the model";
                return clash("the default model of surface", &surface.name, &owner.family, remedy);
            }
        }
        self.routes_fit(about)
    }

    /// Whether a request finds one family by its path, or any of several by its model.
    fn routes_fit(&self, about: &About) -> Result<(), FitError> {
        let routes = about.all_routes();
        for active in self.active().filter(|active| active.version.family() != about.family) {
            for theirs in active.version.about().all_routes() {
                // A request that reads names no model, by which one of several families would be found.
                let is_shared = |own: &RouteInfo| own.means(&theirs) && own.does != RouteUse::Read;
                let clashes = |own: &&RouteInfo| paths_overlap(&own.path, &theirs.path) && !is_shared(own);
                if let Some(own) = routes.iter().find(clashes) {
                    return Err(FitError::RouteTaken {
                        route: own.line(),
                        owner: format!("the active family {:?}", active.version.family()),
                        theirs: format!("{}, surface {:?}", theirs.line(), theirs.surface),
                    });
                }
            }
        }
        Ok(())
    }

    /// This registry with `version` active in its family.
    pub(crate) fn with(&self, version: Arc<Version>, since: UnixMs) -> Result<Self, FitError> {
        self.fits(version.about())?;
        let (mut families, mut disabled) = (self.families.clone(), self.disabled.clone());
        disabled.remove(version.family());
        families.insert(version.family().to_owned(), Active { version, since });
        Ok(self.of(families, disabled))
    }

    /// This registry without the active version of `family`, which is switched off.
    pub(crate) fn without(&self, family: &str, off: DisabledFamily) -> Self {
        let (mut families, mut disabled) = (self.families.clone(), self.disabled.clone());
        families.remove(family);
        disabled.insert(family.to_owned(), off);
        self.of(families, disabled)
    }

    /// This registry without anything of `family`, which is uninstalled.
    pub(crate) fn forgetting(&self, family: &str) -> Self {
        let (mut families, mut disabled) = (self.families.clone(), self.disabled.clone());
        families.remove(family);
        disabled.remove(family);
        self.of(families, disabled)
    }

    /// This registry under another configuration: a path that it does not allow any more is not served.
    pub(crate) fn under(&self, inventory: Option<Inventory>) -> Self {
        let served = Self { inventory: inventory.map(Arc::new), ..Self::default() };
        served.of(self.families.clone(), self.disabled.clone())
    }

    fn of(&self, families: BTreeMap<String, Active>, disabled: BTreeMap<String, DisabledFamily>) -> Self {
        let mut registry = Self { disabled, inventory: self.inventory.clone(), ..Self::default() };
        for active in families.values() {
            registry.index(active.version.about());
        }
        registry.routes = routes(&families, &registry);
        registry.families = families;
        registry
    }

    fn index(&mut self, about: &About) {
        for info in &about.models {
            for id in std::iter::once(&info.id).chain(&info.aliases) {
                let name = ModelName { family: about.family.clone(), model: info.id.clone() };
                self.names.insert(id.clone(), name);
            }
        }
        for surface in &about.surfaces {
            if let Some(model) = &surface.default_model {
                self.defaults.insert(surface.name.clone(), model.clone());
            }
        }
    }
}

/// The routes of all families, each once; an active family comes before one that is off.
fn routes(families: &BTreeMap<String, Active>, registry: &Registry) -> Arc<[ServedRoute]> {
    let Registry { disabled, defaults, inventory, .. } = registry;
    let active = families.iter().flat_map(|(family, active)| {
        let about = active.version.about();
        let is_allowed =
            |route: &RouteInfo| inventory.as_ref().is_none_or(|all| may_serve(family, route, all).is_ok());
        about.all_routes().into_iter().filter(is_allowed).map(|route| {
            let form = route.form.then(|| forms::of_route(about, &route));
            ServedRoute { route, family: family.clone(), is_off: false, form }
        })
    });
    let off = disabled.iter().flat_map(|(family, off)| {
        let routes = off.routes.iter().cloned();
        routes.map(|route| ServedRoute { route, family: family.clone(), is_off: true, form: None })
    });
    let mut found: Vec<ServedRoute> = Vec::new();
    for served in active.chain(off) {
        match found.iter_mut().find(|known| known.route.is_at(&served.route)) {
            None => found.push(served),
            // Each family has the forms of its own models.
            Some(known) => {
                if let (Some(own), Some(forms)) = (&mut known.form, served.form) {
                    own.by_model.extend(forms.by_model);
                }
            }
        }
    }
    for ServedRoute { route, form, .. } in &mut found {
        let usual = route.model.as_ref().or_else(|| defaults.get(&route.surface));
        if let (Some(form), Some(model)) = (form, usual) {
            forms::prefer(form, model);
        }
    }
    found.into()
}
