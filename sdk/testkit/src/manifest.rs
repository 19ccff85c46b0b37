//! A family's manifest against the family itself, natively. The host does the same, and more, when it
//! loads the component.

use gatehouse_sdk::{About, Accepted, Context, Jobs, Refusal, RouteUse, Submission, UnixMs, Verdict};

use crate::machine::{Machine, Native};

/// Checks the manifest: it names models and surfaces that fit each other, and every self-test of a task keeps its
/// promise. Those of texts, answers at once and dialects are left to the component, which the host loads.
///
/// # Panics
/// With what was promised and what came.
pub fn check_family<F: Jobs>() {
    let about = F::about();
    check_models(&about);
    let native = Native::<F>::new();
    let cx = Context::at(UnixMs(1_767_268_800_000));
    for test in about.self_tests.iter().filter(|test| is_submitted(&about, &test.surface)) {
        let body = &test.body;
        let parents = test.parents.iter().cloned().map(Into::into).collect();
        let value = serde_json::from_str(body).expect("a self-test's body is JSON");
        let request = Submission { parents, ..Submission::new(test.surface.clone(), value) };
        let came = native.submit(&cx, &request).unwrap_or_else(|problem| panic!("{body}: {problem}"));
        assert_eq!(verdict(&came), test.expect, "the self-test {body} ended with {came:?}");
    }
}

fn is_submitted(about: &About, surface: &str) -> bool {
    let mut routes = about.routes.iter();
    let has_other_use = routes.any(|route| route.surface == surface && route.does != RouteUse::Submit);
    !has_other_use && !about.dialects.iter().any(|dialect| dialect == surface)
}

fn check_models(about: &About) {
    assert!(!about.models.is_empty(), "a family without models");
    for model in &about.models {
        assert!(!model.surfaces.is_empty(), "the model {:?} serves no surface", model.id);
        for surface in &model.surfaces {
            let known = about.surfaces.iter().any(|known| &known.name == surface);
            assert!(known, "the model {:?} serves {surface:?}, which the manifest does not list", model.id);
        }
    }
    for surface in &about.surfaces {
        if let Some(default) = &surface.default_model {
            let known = about.models.iter().any(|model| &model.id == default);
            assert!(known, "the default model {default:?} of {:?} does not exist", surface.name);
        }
    }
}

fn verdict(came: &Result<Accepted<Vec<u8>>, Refusal>) -> Verdict {
    match came {
        Ok(Accepted { doomed: None, .. }) => Verdict::Accepted,
        Ok(_) => Verdict::Doomed,
        Err(_) => Verdict::Refused,
    }
}
