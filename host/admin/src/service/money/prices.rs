//! Prices for operators: those in effect by family, what a request would cost, and the versions of the book, with what was in effect
//! since when and what changed it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{DryRun, ModelPrices, PriceBasis, PriceList, TokenPrices, VariantPrices};
use gatehouse_model::{CustomerId, FamilyListing, Price};
use gatehouse_store::Store;
use gatehouse_tasks::{MAX_PRICE_BOOKS, NoPrice, PriceVersion, price_changes};
use serde_json::Value;

use crate::api::error::OperationError;
use crate::api::price::{
    FamilyPrices, PriceChangeView, PriceChanges, PricePreview, PriceVariantView, PricesView, TokenPrice,
    UnitPrice,
};
use crate::service::configuration::Configuration;
use crate::service::gateway::Gateway;
use crate::service::price_rows::VersionPrices;

/// What stands between a price key and a more specific one.
const MORE_SPECIFIC: [char; 2] = ['-', '@'];

/// Shows prices, and what a request would cost; writes versions of the price book, and compares them.
pub struct Prices {
    pub(in crate::service) store: Store,
    pub(in crate::service) gateway: Arc<Gateway>,
    pub(in crate::service) configuration: Arc<dyn Configuration>,
}

impl Prices {
    /// All prices of the configuration that is in effect.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway: the configuration is its.
    pub(crate) fn in_effect(&self) -> Result<PricesView, OperationError> {
        let driver = self.gateway.running("prices are known to a running gateway only")?;
        Ok(book(driver.models.prices(), &driver.models.loaded_families()))
    }

    /// Whether customers can point to that variant of the price book.
    ///
    /// # Errors
    /// The names there are; [`OperationError::Refused`] without a running gateway.
    pub(crate) fn check_variant(&self, name: Option<&str>) -> Result<(), OperationError> {
        let Some(name) = name else { return Ok(()) };
        let driver =
            self.gateway.running("variants of the price book are known to a running gateway only")?;
        let variants = driver.models.prices().variants;
        if variants.contains_key(name) {
            return Ok(());
        }
        let known = match variants.is_empty() {
            true => "nothing, as the configuration has no price_variants".to_owned(),
            false => format!("one of {}", variants.into_keys().collect::<Vec<_>>().join(", ")),
        };
        Err(OperationError::Invalid(format!("price_variant: expected {known}, got {name:?}")))
    }

    /// What a request would cost: `target` is the path of its endpoint or its surface, `body` what a client would send.
    /// Needs no key and no money, and makes nothing. Tasks and names that it refers to are those of `customer`. With `book`
    /// it is priced by that version of the price book. The customer's variant counts in both.
    ///
    /// # Errors
    /// What a client would be refused with; [`OperationError::Refused`] without a running gateway, and for a version that
    /// lacks, or may lack, a price which the request needs.
    pub(crate) async fn preview(
        &self,
        target: String,
        body: &Value,
        customer: Option<CustomerId>,
        book: Option<u64>,
    ) -> Result<PricePreview, OperationError> {
        let book = match book {
            Some(number) => Some(self.version(number).await?),
            None => None,
        };
        let of_customer = match &customer {
            Some(customer) => self.store.customer(customer).await?,
            None => None,
        };
        let variant = of_customer.and_then(|customer| customer.price_variant);
        let body = Bytes::from(body.to_string());
        let found = self.gateway.public_api()?.price(target, body, customer).await?;
        let found = match book {
            Some(book) => priced_by(found, &book, variant.as_deref())?,
            None => found,
        };
        Ok(PricePreview::from(found))
    }

    /// Writes versions of the price book that wait. What cannot be written is logged and waits on.
    pub async fn keep(&self) {
        let Some(history) = self.configuration.price_history() else { return };
        if let Err(error) = history.write(&self.store).await {
            tracing::error!(%error, "a version of the price book is not written yet");
        }
    }

    /// A version with its prices.
    pub(crate) async fn version(&self, number: u64) -> Result<PriceVersion, OperationError> {
        let found = self.store.price_book(number).await?;
        found.ok_or_else(|| {
            let why = format!("no version {number} of the price book; the last {MAX_PRICE_BOOKS} are kept");
            OperationError::NotFound(why)
        })
    }

    /// What differs between a version and another: without `against`, the one before it.
    pub(crate) async fn changes(
        &self,
        number: u64,
        against: Option<u64>,
    ) -> Result<PriceChanges, OperationError> {
        let after = self.version(number).await?;
        let before = match against {
            Some(other) => Some(self.version(other).await?),
            // The first one has none before it; the oldest that is kept may have had one.
            None => match self.store.list_price_books(Some(number), 1).await?.rows.pop() {
                Some(before) => Some(self.version(before.number).await?),
                None => None,
            },
        };
        let lost = before.is_none() && number > 1;
        let prices = before.as_ref().map_or(&[][..], |book| &book.prices);
        let changes = price_changes(prices, &after.prices).into_iter().map(PriceChangeView::from).collect();
        let lacks = |book: &PriceVersion| book.left_out > 0 || !book.lists_all;
        Ok(PriceChanges {
            against: before.as_ref().map(|book| book.number),
            number,
            changes,
            incomplete: lost || lacks(&after) || before.as_ref().is_some_and(lacks),
        })
    }
}

fn book(list: PriceList, families: &[FamilyListing]) -> PricesView {
    let PriceList { version, units, tokens, variants } = list;
    let units = listed(units);
    let belongs = |key: &str, least: &str| {
        key.strip_prefix(least).is_some_and(|rest| rest.is_empty() || rest.starts_with(MORE_SPECIFIC))
    };
    let has_no_price = |key: &&String| !units.iter().any(|unit| unit.key == **key);
    let of_family = |family: &FamilyListing| {
        let own = |unit: &&UnitPrice| family.price_keys.iter().any(|least| belongs(&unit.key, least));
        let is_text = |name: &&String| {
            tokens.values().any(|model| model.aliases.contains(name)) || tokens.contains_key(*name)
        };
        let mut models: Vec<String> = family
            .surfaces
            .iter()
            .flat_map(|surface| surface.models.iter().filter(is_text).cloned())
            .collect();
        models.sort();
        models.dedup();
        FamilyPrices {
            family: family.family.clone(),
            version: family.version.clone(),
            units: units.iter().filter(own).cloned().collect(),
            missing: family.price_keys.iter().filter(has_no_price).cloned().collect(),
            models: if family.price_keys.is_empty() { models } else { Vec::new() },
        }
    };
    let by_family: Vec<FamilyPrices> = families.iter().map(of_family).collect();
    let is_used = |key: &str| by_family.iter().any(|family| family.units.iter().any(|unit| unit.key == key));
    let unused = units.iter().map(|unit| unit.key.clone()).filter(|key| !is_used(key)).collect();
    let of_variant = |(name, variant): (String, VariantPrices)| {
        let of_model = |(model, prices): (String, TokenPrices)| {
            let listed = tokens.get(&model).cloned()?;
            Some(TokenPrice::from((model, ModelPrices { prices, ..listed })))
        };
        let tokens = variant.tokens.into_iter().filter_map(of_model).collect();
        PriceVariantView { name, units: listed(variant.units), tokens }
    };
    let variants = variants.into_iter().map(of_variant).collect();
    let tokens = tokens.into_iter().map(TokenPrice::from).collect();
    PricesView { version: version.to_string(), tokens, units, families: by_family, unused, variants }
}

fn listed(units: BTreeMap<String, Price>) -> Vec<UnitPrice> {
    units.into_iter().map(UnitPrice::from).collect()
}

/// The same request at the prices of a version: what it needs and how much of it stay as they are.
fn priced_by(found: DryRun, version: &PriceVersion, variant: Option<&str>) -> Result<DryRun, OperationError> {
    let refused =
        |why: String| OperationError::Refused(format!("version {} of the price book {why}", version.number));
    let no_price = |keys: &str| refused(format!("has no price for {keys}"));
    let too_much = || OperationError::Refused("the price is more than can be counted".to_owned());
    let prices = VersionPrices { rows: &version.prices, variant };
    if found.basis.is_some() && version.left_out > 0 {
        return Err(refused(format!(
            "has {} more prices than are kept, and this request may need one of them",
            version.left_out
        )));
    }
    match &found.basis {
        None => Ok(found),
        Some(PriceBasis::Units { .. }) => {
            let units = prices.units().map_err(|error| refused(format!("cannot be used: {error}")))?;
            found.at_unit_prices(&units).map_err(|error| match error {
                NoPrice::Unknown { keys } => no_price(&keys.join(", ")),
                NoPrice::Overflow { .. } | NoPrice::Sum(_) => too_much(),
            })
        }
        Some(PriceBasis::Text(targets)) => {
            if !version.lists_all && targets.iter().any(|target| !target.is_plain) {
                let why = "was kept by an earlier release, which did not note what passed fields and single targets of a \
                           model cost; this request's price depends on them";
                return Err(refused(why.to_owned()));
            }
            let of_targets = targets.iter().map(|target| prices.tokens(&found.model, &target.target));
            let of_targets: Option<Vec<_>> = of_targets.collect();
            let of_targets = of_targets.ok_or_else(|| no_price(&found.model))?;
            let passed = prices.passed(&found.model);
            found.at_token_prices(of_targets, &passed).ok_or_else(too_much)
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_driver::{PassPrice, TargetBasis};
    use gatehouse_model::{
        Call, Charge, Credits, Digest, Payload, Prepared, Reading, Replay, Target, UnixMs,
    };
    use gatehouse_tasks::PricePart;
    use serde_json::json;

    use super::*;
    use crate::service::price_rows::rows;

    fn tokens(json: Value) -> TokenPrices {
        serde_json::from_value(json).expect("prices")
    }

    /// A model with dear counters, another price of input at its second target, and prices of what it passes; a variant with a
    /// price of a thousand units, and others of the model's tokens.
    fn prices() -> PriceList {
        let counters = json!({"input-audio": "40", "cache-write-audio": "41"});
        let plain = json!({"input": "3", "output": "15", "counters": counters});
        let (slow, fast) = (json!({"factor": "0.5"}), json!({"factor": "2"}));
        let pass = json!({"tier": slow, "tier=fast": fast, "search": {"request": "0.01"}});
        let pass_prices: BTreeMap<String, PassPrice> = serde_json::from_value(pass).expect("prices");
        let dear = tokens(json!({"input": "100", "output": "15", "counters": {"output-draft": "90"}}));
        let model = ModelPrices {
            aliases: Vec::new(),
            provider: "p".to_owned(),
            prices: tokens(plain.clone()),
            targets: vec![("p/m".to_owned(), tokens(plain)), ("q/m n".to_owned(), dear)],
            pass_prices,
        };
        let partner = VariantPrices {
            units: [("ctx".to_owned(), Price { credits: Credits(3_000_000_000), per: 1_000 })].into(),
            tokens: [("m".to_owned(), tokens(json!({"input": "1", "output": "2"})))].into(),
            targets: BTreeMap::new(),
        };
        PriceList {
            version: Digest::of(b""),
            units: [("ctx".to_owned(), Price::each(Credits(4_000_000)))].into(),
            tokens: [("m".to_owned(), model)].into(),
            variants: [("partner".to_owned(), partner)].into(),
        }
    }

    fn kept(prices: PriceList) -> PriceVersion {
        PriceVersion {
            number: 7,
            at: UnixMs(0),
            who: "gateway".to_owned(),
            cause: "start".to_owned(),
            digest: prices.version,
            prices: rows(prices),
            left_out: 0,
            lists_all: true,
            changed: 0,
        }
    }

    fn asked(model: &str, basis: PriceBasis) -> DryRun {
        let (model, charges, sum) = (model.to_owned(), Vec::new(), Credits::ZERO);
        DryRun { model, charges, sum, at_most: true, expected_ms: None, failure: None, basis: Some(basis) }
    }

    /// A text of so few bytes that what is added for its frame is all that is read, with a limit of 100 tokens.
    fn text(targets: &[&str], sent: &Value) -> DryRun {
        let call = Call {
            provider: "p".to_owned(),
            method: "POST".to_owned(),
            target: Target::Path("/".to_owned()),
            headers: Vec::new(),
            body: Payload::Json(sent.to_string().into()),
            timeout_ms: 1,
            replay: Replay::Once,
            affinity: None,
            reading: Reading::Whole,
            credentials: true,
            shared: None,
        };
        let prepared = Prepared {
            call,
            streaming: false,
            input_bytes: 0,
            pictures: 0,
            max_output_tokens: 100,
            state: Vec::new(),
        };
        let basis = |target: &&str| TargetBasis {
            target: (*target).to_owned(),
            prepared: prepared.clone(),
            is_plain: *sent == json!({}) && targets == ["p/m"],
        };
        asked("m", PriceBasis::Text(targets.iter().map(basis).collect()))
    }

    /// Without it an operator is told that a request cost by a version what nobody was charged.
    #[test]
    fn units_cost_by_a_version_what_they_were_charged() {
        let version = kept(prices());
        let units = |most: u64| PriceBasis::Units {
            charge: Charge::of(["ctx@hd", "ctx"], 2),
            at_most: Charge::of(["ctx"], most),
        };
        for (variant, most, price, per, sum) in [
            (None, 0, 4_000_000, 1, 8_000_000),
            (Some("partner"), 0, 3_000_000_000, 1_000, 6_000_000),
            (Some("gone"), 0, 4_000_000, 1, 8_000_000),
            // The hold of a family that names a limit is that of its limit.
            (None, 5, 4_000_000, 1, 20_000_000),
            (Some("partner"), 5, 3_000_000_000, 1_000, 15_000_000),
        ] {
            let found = priced_by(asked("ctx", units(most)), &version, variant).expect("a price");
            let charge = &found.charges[0];
            assert_eq!((charge.key.as_str(), charge.unit_price.0, charge.per), ("ctx", price, per));
            assert_eq!((found.sum.0, found.at_most), (sum, most > 0), "{variant:?} {most}");
        }
        let other = PriceBasis::Units { charge: Charge::of(["a@b", "a"], 1), at_most: Charge::default() };
        let error = priced_by(asked("a", other), &version, None).expect_err("no price").to_string();
        assert_eq!(error, "version 7 of the price book has no price for a@b, a");
    }

    #[test]
    fn a_text_costs_by_a_version_what_was_held() {
        let version = kept(prices());
        let both = ["p/m", "q/m n"];
        for (targets, sent, variant, expected) in [
            (&both[..1], json!({}), None, [41_000_000, 15_000_000].as_slice()),
            (&both, json!({}), None, &[100_000_000, 90_000_000]),
            (&both, json!({}), Some("partner"), &[1_000_000, 2_000_000]),
            (&both[..1], json!({"tier": "fast"}), None, &[82_000_000, 30_000_000]),
            (&both[..1], json!({"tier": "slow"}), None, &[20_500_000, 7_500_000]),
            (&both, json!({"tier": "fast", "search": {}}), None, &[200_000_000, 180_000_000, 10_000]),
            (&both, json!({"search": {}}), Some("partner"), &[1_000_000, 2_000_000, 10_000]),
        ] {
            let found = priced_by(text(targets, &sent), &version, variant).expect("a price");
            let told: Vec<i64> = found.charges.iter().map(|charge| charge.unit_price.0).collect();
            assert_eq!(told, expected, "{targets:?} {sent} {variant:?}");
            let sum: i64 = found.charges.iter().map(|charge| charge.sum.0).sum();
            assert_eq!((found.sum.0, found.at_most), (sum, true), "{targets:?} {sent}");
        }
        let gone = DryRun { model: "gone".to_owned(), ..text(&both, &json!({})) };
        let error = priced_by(gone, &version, None).expect_err("no price").to_string();
        assert_eq!(error, "version 7 of the price book has no price for gone");
    }

    /// A version that an earlier release kept says nothing of these prices: a sum without them is one that nobody was charged.
    #[test]
    fn an_older_version_says_what_it_does_not_know() {
        let mut older = PriceVersion { lists_all: false, ..kept(prices()) };
        let of_passed = [PricePart::PassFactor, PricePart::PassRequest];
        older.prices.retain(|row| !row.key.contains(" at ") && !of_passed.contains(&row.part));
        let found = priced_by(text(&["p/m"], &json!({})), &older, None).expect("a price");
        assert_eq!(found.charges[0].unit_price, Credits(41_000_000));
        for request in [text(&["p/m"], &json!({"search": {}})), text(&["p/m", "q/m n"], &json!({}))] {
            let error = priced_by(request, &older, None).expect_err("unknown").to_string();
            assert!(error.contains("passed fields and single targets"), "{error}");
        }
    }

    /// The price that was charged may be one of those that are not kept; a less specific one would be told in its place.
    #[test]
    fn a_version_that_was_cut_prices_nothing() {
        let cut = PriceVersion { left_out: 3, ..kept(prices()) };
        let units = PriceBasis::Units { charge: Charge::of(["ctx"], 2), at_most: Charge::default() };
        for request in [asked("ctx", units), text(&["p/m"], &json!({}))] {
            let error = priced_by(request, &cut, None).expect_err("a lost price").to_string();
            assert!(error.starts_with("version 7 of the price book has 3 more prices"), "{error}");
        }
        let free = DryRun { basis: None, ..text(&["p/m"], &json!({})) };
        assert!(priced_by(free, &cut, None).is_ok());
    }

    #[test]
    fn a_price_belongs_to_the_family_that_charges_by_it() {
        let family = |name: &str, keys: &[&str]| FamilyListing {
            family: name.to_owned(),
            version: "1.0.0".to_owned(),
            digest: Digest::of(b""),
            views: Vec::new(),
            price_keys: keys.iter().map(|&key| key.to_owned()).collect(),
            surfaces: vec![],
        };
        let units = ["clip", "clip-hd", "clip@5", "clipper", "old"];
        let units = units.iter().zip(1..).map(|(&key, price)| (key.to_owned(), Price::each(Credits(price))));
        let list = PriceList {
            version: Digest::of(b""),
            units: units.collect(),
            tokens: BTreeMap::new(),
            variants: BTreeMap::new(),
        };
        let book = book(list, &[family("clip", &["clip"]), family("film", &["clipper", "film"])]);
        let keys =
            |at: usize| book.families[at].units.iter().map(|unit| unit.key.as_str()).collect::<Vec<_>>();
        assert_eq!(keys(0), ["clip", "clip-hd", "clip@5"]);
        assert_eq!((keys(1), &book.families[1].missing[..]), (vec!["clipper"], &["film".to_owned()][..]));
        assert!(book.families[0].missing.is_empty());
        assert_eq!(book.unused, ["old"]);
    }
}
