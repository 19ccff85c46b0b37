//! What the loaded families offer to a caller: surfaces with their schemas and the names of models. For documentation.

use std::sync::Arc;

use gatehouse_model::{About, FamilyListing, Key, RouteInfo, RouteUse, SurfaceInfo, SurfaceListing, Verdict};
use gatehouse_runtime::Version;

use crate::config::tables::Tables;
use crate::models::table::ModelKind;
use crate::read::models::Models;
use crate::served::serves_text;

impl Models {
    /// Every loaded family with the models that the key may use; without a key with all of them. A model whose provider has
    /// no account is left out, and so is a family without any model.
    #[must_use]
    pub fn families(&self, key: Option<&Key>) -> Vec<FamilyListing> {
        let (registry, tables) = (self.shared.plugins.registry(), self.shared.tables.load());
        let allowed = |name: &str, id: &str| key.is_none_or(|key| self.judge.may_use(key, name, id));
        let offered = |name: &str, id: &str| {
            (tables.models.find(id).is_none() || serves_text(&registry, &tables, id)) && allowed(name, id)
        };
        let served = |version: &Arc<Version>| {
            version.about().offers.text || self.served.serves_family(version.about())
        };
        let versions = registry.versions().into_iter().filter(served);
        with_surfaces(versions.map(|version| listing(&version, &tables, &offered)))
    }

    /// Every loaded family with all its models, also those whose provider has no account yet.
    #[must_use]
    pub fn loaded_families(&self) -> Vec<FamilyListing> {
        let (registry, tables) = (self.shared.plugins.registry(), self.shared.tables.load());
        with_surfaces(registry.versions().into_iter().map(|version| listing(&version, &tables, &|_, _| true)))
    }
}

fn with_surfaces(listed: impl Iterator<Item = FamilyListing>) -> Vec<FamilyListing> {
    listed.filter(|family| !family.surfaces.is_empty()).collect()
}

fn listing(version: &Version, tables: &Tables, allowed: &dyn Fn(&str, &str) -> bool) -> FamilyListing {
    let about = version.about();
    let views = about.all_routes().into_iter().filter(|route| route.does == RouteUse::View);
    FamilyListing {
        family: about.family.clone(),
        version: about.version.clone(),
        digest: version.digest(),
        views: views.map(|route| route.surface).collect(),
        price_keys: about.price_keys.clone(),
        surfaces: about.surfaces.iter().filter_map(|own| surface(about, own, tables, allowed)).collect(),
    }
}

fn surface(
    about: &About,
    own: &SurfaceInfo,
    tables: &Tables,
    allowed: &dyn Fn(&str, &str) -> bool,
) -> Option<SurfaceListing> {
    let mut models: Vec<String> = if about.offers.text {
        // Text models are the operator's, and every one of them is on every surface of its kind.
        let wanted = ModelKind::of_surface(&own.name);
        tables
            .models
            .names()
            .filter(|(name, id)| tables.models.kind(id) == wanted && allowed(name, id))
            .map(|(name, _)| name.to_owned())
            .collect()
    } else {
        let serving = about.models.iter().filter(|model| model.surfaces.contains(&own.name));
        let names = serving.flat_map(|model| {
            std::iter::once(&model.id).chain(&model.aliases).filter(move |name| allowed(name, &model.id))
        });
        names.cloned().collect()
    };
    models.sort();
    let is_read = |route: &RouteInfo| route.surface == own.name && route.does == RouteUse::Read;
    if models.is_empty() && !about.routes.iter().any(is_read) {
        return None;
    }
    let accepted =
        about.self_tests.iter().find(|test| test.surface == own.name && test.expect == Verdict::Accepted);
    Some(SurfaceListing {
        name: own.name.clone(),
        schema: own.schema.clone(),
        result_schema: own.result_schema.clone(),
        default_model: own.default_model.clone().filter(|model| models.contains(model)),
        models,
        example: accepted.map(|test| test.body.clone()),
    })
}
