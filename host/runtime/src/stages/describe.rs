//! Stage five, second half: does the manifest keep its own rules?

use std::collections::BTreeSet;

use gatehouse_guest::shorten;
use gatehouse_model::{About, ModelInfo, NameAt, Parent, ParentAt, Protocol, SurfaceInfo, is_kebab_case};

use crate::stages::routes::check_declared;

/// Why a manifest is not acceptable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// A part of the manifest breaks a rule.
    #[error("manifest.{field}: {why}")]
    Field {
        /// Its path.
        field: String,
        /// What was expected and what came.
        why: String,
    },
    /// The document is no manifest at all.
    #[error("the manifest cannot be read: {0}")]
    Unreadable(String),
    /// The call failed.
    #[error("describe() failed: {0}")]
    Fault(String),
    /// The file carries another manifest for readers.
    #[error("section gatehouse:manifest: {0}; pack the plugin again with `gatehouse plugin pack`")]
    Carried(String),
    /// The second call returned another manifest.
    #[error("describe() gave two different manifests; a plugin is a pure function")]
    Unsteady,
}

pub(crate) const MAX_NAME_BYTES: usize = 128;
/// Bytes of a wrong manifest that an error quotes.
const MAX_QUOTE_BYTES: usize = 400;
pub(crate) const MAX_ENTRIES: usize = 256;
pub(crate) const MAX_SELF_TESTS: usize = 64;
/// Fields and schemes of one surface.
pub(crate) const MAX_NAMES_AT: usize = 16;
/// Words for people: title, licence, homepage, a unit.
const MAX_WORDS_BYTES: usize = 256;

pub(crate) fn wrong(field: impl Into<String>, why: impl Into<String>) -> DescribeError {
    // The manifest may hold text of any length.
    let (field, why) = (field.into(), why.into());
    DescribeError::Field {
        field: shorten(&field, MAX_QUOTE_BYTES).to_owned(),
        why: shorten(&why, MAX_QUOTE_BYTES).to_owned(),
    }
}

pub(super) fn at_most(field: impl Into<String>, most: usize, count: usize) -> Result<(), DescribeError> {
    if count > most {
        return Err(wrong(field, format!("at most {most} are allowed, got {count}")));
    }
    Ok(())
}

/// Checks the manifest.
pub(crate) fn check_manifest(about: &About) -> Result<(), DescribeError> {
    kebab("family", &about.family)?;
    semver::Version::parse(&about.version)
        .map_err(|error| wrong("version", format!("{:?} is not semver: {error}", about.version)))?;
    words(about)?;
    models(about)?;
    surfaces(about)?;
    check_declared(about)?;
    dialects(about)?;
    about.providers.iter().try_for_each(|name| kebab("providers", name))?;
    names("providers", about.providers.iter())?;
    names("price_keys", about.price_keys.iter())?;
    units(about)?;
    if let Some(settings) = &about.settings_schema {
        schema("settings_schema", settings)?;
    }
    states(about)?;
    self_tests(about)
}

/// What people read.
fn words(about: &About) -> Result<(), DescribeError> {
    let words = [("title", &about.title), ("licence", &about.licence), ("homepage", &about.homepage)];
    words.into_iter().try_for_each(|(field, text)| text.iter().try_for_each(|text| plain(field, text)))
}

fn plain(field: &str, text: &str) -> Result<(), DescribeError> {
    if text.is_empty() || text.len() > MAX_WORDS_BYTES || text.chars().any(char::is_control) {
        let why = format!("expected 1 to {MAX_WORDS_BYTES} bytes without control characters, got {text:?}");
        return Err(wrong(field, why));
    }
    Ok(())
}

fn units(about: &About) -> Result<(), DescribeError> {
    about.units.iter().try_for_each(|(key, unit)| {
        if about.price_keys.contains(key) {
            return plain("units", unit);
        }
        Err(wrong("units", format!("expected one of the manifest's price keys, got {key:?}")))
    })
}

fn schema(field: &str, text: &str) -> Result<(), DescribeError> {
    gatehouse_schema::check(text).map(drop).map_err(|error| {
        let why = if error.at == "#" { error.why } else { format!("{}: {}", error.at, error.why) };
        wrong(field, why)
    })
}

/// Lower-case letters, digits and single inner hyphens, a letter first.
fn kebab(field: &str, name: &str) -> Result<(), DescribeError> {
    if is_kebab_case(name) {
        return Ok(());
    }
    Err(wrong(field, format!("expected kebab-case, got {name:?}")))
}

/// Checks that names are usable and differ from each other.
fn names<'a>(field: &str, names: impl Iterator<Item = &'a String>) -> Result<(), DescribeError> {
    let mut seen = BTreeSet::new();
    for name in names {
        let plain = name.bytes().all(|byte| byte.is_ascii_graphic());
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !plain {
            let why = format!("expected 1 to {MAX_NAME_BYTES} visible ASCII characters, got {name:?}");
            return Err(wrong(field, why));
        }
        if !seen.insert(name) {
            return Err(wrong(field, format!("{name:?} is there twice")));
        }
    }
    at_most(field, MAX_ENTRIES, seen.len())
}

/// What the dialect half speaks, and nobody else.
fn dialects(about: &About) -> Result<(), DescribeError> {
    if about.dialects.is_empty() == about.offers.dialect {
        let why = if about.offers.dialect {
            "expected at least one beside the interface `dialect`, got none".to_owned()
        } else {
            format!("expected none without the interface `dialect`, got {:?}", about.dialects)
        };
        return Err(wrong("dialects", why));
    }
    about.dialects.iter().try_for_each(|name| match Protocol::try_from(name.clone()) {
        Ok(Protocol::Dialect(_)) => Ok(()),
        Ok(_) => Err(wrong("dialects", format!("{name:?} is a protocol of the host's text families"))),
        Err(_) => kebab("dialects", name),
    })?;
    names("dialects", about.dialects.iter())
}

fn surfaces(about: &About) -> Result<(), DescribeError> {
    if about.surfaces.is_empty() && !about.offers.dialect {
        return Err(wrong("surfaces", "expected at least one, got none"));
    }
    names("surfaces", about.surfaces.iter().map(|surface| &surface.name))?;
    about.surfaces.iter().try_for_each(|surface| surface_of(about, surface))
}

fn surface_of(about: &About, surface: &SurfaceInfo) -> Result<(), DescribeError> {
    let field = format!("surfaces[{:?}]", surface.name);
    schema(&format!("{field}.schema"), &surface.schema)?;
    if let Some(result) = &surface.result_schema {
        schema(&format!("{field}.result_schema"), result)?;
    }
    references(about, surface, &field)?;
    let Some(default) = &surface.default_model else { return Ok(()) };
    // Text models are configured by the operator.
    if about.offers.text && about.models.is_empty() {
        return names("surfaces", std::iter::once(default));
    }
    let serves = |model: &ModelInfo| model.id == *default && model.surfaces.contains(&surface.name);
    if about.models.iter().any(serves) {
        return Ok(());
    }
    let why = format!("expected a model id that serves this surface, got {default:?}");
    Err(wrong(format!("{field}.default_model"), why))
}

/// Where a surface's request refers to tasks and names.
fn references(about: &About, surface: &SurfaceInfo, field: &str) -> Result<(), DescribeError> {
    let has_parent = surface.parent != ParentAt::Nowhere;
    if surface.joins && !has_parent {
        return Err(wrong(
            format!("{field}.joins"),
            "expected a surface with a parent, which a request can join",
        ));
    }
    if !about.offers.jobs && (has_parent || !surface.names.is_empty()) {
        return Err(wrong(field, "only requests for long jobs refer to tasks and names"));
    }
    if let ParentAt::Field(name) = &surface.parent {
        names(&format!("{field}.parent"), std::iter::once(name))?;
    }
    for place in &surface.names {
        match place {
            NameAt::Field(name) => names(&format!("{field}.names"), std::iter::once(name))?,
            NameAt::Scheme(scheme) => kebab(&format!("{field}.names"), scheme)?,
        }
    }
    at_most(format!("{field}.names"), MAX_NAMES_AT, surface.names.len())
}

fn models(about: &About) -> Result<(), DescribeError> {
    if about.models.is_empty() && about.offers.jobs {
        return Err(wrong("models", "expected at least one, got none"));
    }
    let every_name = about.models.iter().flat_map(|model| std::iter::once(&model.id).chain(&model.aliases));
    names("models", every_name)?;
    for model in &about.models {
        let field = format!("models[{:?}].surfaces", model.id);
        if model.surfaces.is_empty() {
            return Err(wrong(field, "expected at least one, got none"));
        }
        let known = |name: &&String| about.surfaces.iter().any(|surface| surface.name == **name);
        if let Some(unknown) = model.surfaces.iter().find(|name| !known(name)) {
            return Err(wrong(field, format!("{unknown:?} is not among the manifest's surfaces")));
        }
        if let Some(modality) = &model.modality {
            kebab(&format!("models[{:?}].modality", model.id), modality)?;
        }
    }
    Ok(())
}

fn states(about: &About) -> Result<(), DescribeError> {
    let mut seen = BTreeSet::new();
    for version in &about.reads_state {
        if *version >= about.state_version {
            let why = format!("expected versions older than {}, got {version}", about.state_version);
            return Err(wrong("reads_state", why));
        }
        if !seen.insert(version) {
            return Err(wrong("reads_state", format!("{version} is there twice")));
        }
    }
    Ok(())
}

fn self_tests(about: &About) -> Result<(), DescribeError> {
    at_most("self_tests", MAX_SELF_TESTS, about.self_tests.len())?;
    for (number, test) in about.self_tests.iter().enumerate() {
        let field = format!("self_tests[{number}]");
        let is_surface = about.surfaces.iter().any(|surface| surface.name == test.surface);
        if !is_surface && !about.dialects.contains(&test.surface) {
            let why = format!("{:?} is not among the manifest's surfaces and dialects", test.surface);
            return Err(wrong(format!("{field}.surface"), why));
        }
        for parent in &test.parents {
            Parent::try_from(parent.clone()).map_err(|why| wrong(format!("{field}.parents"), why))?;
        }
    }
    Ok(())
}
