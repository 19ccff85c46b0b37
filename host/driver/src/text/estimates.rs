//! What a request may cost at the targets that can answer it: each by its own prices, and by the cap on output that its
//! protocol gives the request. A model's targets share its rules, so that those of one protocol share what is prepared.

use std::borrow::Cow;
use std::sync::Arc;

use gatehouse_model::{Context, Credits, Prepared, Protocol};

use crate::api::TargetBasis;
use crate::errors::SubmitError;
use crate::models::bill::Bill;
use crate::models::table::TextModel;
use crate::models::targets::Target;
use crate::text::api::TextError;
use crate::text::dialect::route_of_family;
use crate::text::translation::{Source, Translator};
use crate::text::tried_targets::TriedTargets;

/// What a request may cost.
pub(super) struct Estimates {
    /// The bill of the target that is asked first.
    pub(super) first: Bill,
    /// The bill that may become the highest.
    pub(super) dearest: Bill,
    /// Its highest cost: the hold.
    pub(super) amount: Credits,
    /// What the request takes of a rate of tokens, at most.
    pub(super) tokens: u64,
    /// What all of it comes from, at each target; empty unless only the price is asked.
    pub(super) basis: Vec<TargetBasis>,
}

impl Translator {
    /// The estimates of a request that is `prepared` for its first target. Targets of another protocol are left where that
    /// cannot say it. Where its plugin has not told, they stay, by the price of what is `prepared`: a cost above the hold can
    /// be settled.
    pub(super) async fn estimates(
        &self,
        source: &Source,
        cx: &Context,
        model: &Arc<TextModel>,
        targets: &mut TriedTargets,
        prepared: &Prepared,
    ) -> Result<Estimates, TextError> {
        let own = family_protocol(&model.targets[targets.first()]);
        let is_own = |target: usize| family_protocol(&model.targets[target]) == own;
        let other = targets.open().iter().copied().find(|&target| !is_own(target));
        let other = match other {
            Some(target) => {
                let priced = self.as_priced(source, cx, &model.targets[target].route).await;
                unless_refused(priced, &model.id, prepared)
            }
            None => None,
        };
        if other.is_none() {
            targets.retain(is_own);
        }
        let prepared_for = |target: usize| if is_own(target) { Some(prepared) } else { other.as_deref() };
        let bill = |&target: &usize| model.bill(&model.targets[target], prepared_for(target)?);
        let bills: Option<Vec<Bill>> = targets.open().iter().map(bill).collect();
        let basis = |target: usize, bill: &Bill| {
            let is_plain = bill.request.is_zero() && bill.prices == model.prices;
            let (target, prepared) = (model.targets[target].name.clone(), prepared_for(target)?.clone());
            Some(TargetBasis { target, prepared, is_plain })
        };
        let estimates = bills.and_then(|bills| {
            let tokens = bills.iter().map(Bill::estimated_tokens).max()?;
            let first = bills.first()?.clone();
            let asked = if source.only_price { targets.open() } else { &[] };
            let basis = asked.iter().zip(&bills).filter_map(|(&target, bill)| basis(target, bill)).collect();
            let (amount, dearest) = Bill::dearest(bills)?;
            Some(Estimates { first, dearest, amount, tokens, basis })
        });
        Ok(estimates.ok_or_else(|| SubmitError::too_dear(&model.id))?)
    }
}

/// What the text family writes for that target: a dialect reads what a Messages provider would.
fn family_protocol(target: &Target) -> Protocol {
    route_of_family(&target.route).protocol
}

/// What another protocol's targets are priced by; `None` where that protocol cannot say the request. A plugin that is busy or
/// failed has said nothing about them: one may be healthy where the first fails.
fn unless_refused<'a, T: Clone>(
    priced: Result<T, SubmitError>,
    model: &str,
    own: &'a T,
) -> Option<Cow<'a, T>> {
    match priced {
        Ok(prepared) => Some(Cow::Owned(prepared)),
        Err(SubmitError::Invalid { .. } | SubmitError::NotFound(_) | SubmitError::Forbidden(_)) => None,
        Err(error) => {
            tracing::warn!(model, %error, "targets of another protocol are priced by what the first is asked");
            Some(Cow::Borrowed(own))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a request fails with its first target although another is healthy, because that one's plugin was busy for a
    /// moment.
    #[test]
    fn only_a_refusal_leaves_the_targets_of_another_protocol() {
        let invalid = || SubmitError::Invalid { field: None, message: String::new() };
        for (priced, expected) in [
            (Ok(7), Some(7)),
            (Err(invalid()), None),
            (Err(SubmitError::NotFound(String::new())), None),
            (Err(SubmitError::Forbidden(String::new())), None),
            (Err(SubmitError::Busy), Some(1)),
            (Err(SubmitError::Internal("a plugin failed".to_owned())), Some(1)),
        ] {
            let told = format!("{priced:?}");
            let found = unless_refused(priced, "m", &1).map(Cow::into_owned);
            assert_eq!(found, expected, "{told}");
        }
    }
}
