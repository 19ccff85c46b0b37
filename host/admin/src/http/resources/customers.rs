//! `/customers`: who pays, with their balances, and the money that operators move.

use gatehouse_model::{Credits, Customer, CustomerId, CustomerPolicy, UnixMs, view};
use gatehouse_tasks::{Applied, Command, JournalEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::values::{List, Moment, Period, entry_id};
use crate::audit::told;
use crate::error::{ApiError, Kind};
use crate::http::call::{Call, Outcome};
use crate::http::request::body::{changes, created, from_value, patched};
use crate::http::request::precondition::{Edited, check_edited};
use crate::http::request::query::{Form, Parameter, filter};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::{before_prefix, of_prefix};

const FILTERS: [Parameter; 2] = [
    filter("without_credit", Form::Flag, "True: only customers whose every request is refused."),
    filter("id_prefix", Form::Text, "Only customers whose id begins with this."),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/customers", "listCustomers", list)
            .says("Lists customers by id.")
            .query(&FILTERS)
            .paged()
            .returns::<List<CustomerView>>(),
        Route::post("/customers", "createCustomer", create)
            .says("Opens a customer without credit.")
            .body::<NewCustomer>()
            .creates::<CustomerView>(),
        Route::get("/customers/{customer}", "getCustomer", show)
            .says("Shows one customer.")
            .returns::<CustomerView>()
            .tagged(),
        Route::patch("/customers/{customer}", "editCustomer", edit)
            .says("Changes what a customer may spend, what it pays, and when its webhooks are told.")
            .patches::<QuotaPolicy>()
            .returns::<CustomerView>()
            .tagged(),
        Route::post("/customers/{customer}/deposits", "deposit", deposit)
            .says("Pays credits in.")
            .body::<NewDeposit>()
            .creates::<MoneyMoved>()
            .idempotent(),
        Route::post("/customers/{customer}/withdrawals", "withdraw", withdraw)
            .says("Takes back credits that are free.")
            .body::<NewWithdrawal>()
            .creates::<MoneyMoved>()
            .idempotent(),
        Route::post("/customers/{customer}/adjustments", "adjust", adjust)
            .says("Corrects a balance, with a reason.")
            .body::<NewAdjustment>()
            .creates::<MoneyMoved>()
            .idempotent(),
    ]
}

view! {
    /// A customer and its balances. What is available, held and spent always sums to what was deposited.
    #[derive(Clone, Debug, Serialize, JsonSchema)]
    #[schemars(rename = "Customer")]
    struct CustomerView of ((customer, at): (Customer, UnixMs)) where {
        let quota = customer.quota_use(at);
        let policy = customer.policy().into();
    } {
        /// Its id.
        id: String = customer.id.0,
        /// When it was opened.
        created: Moment = customer.created.into(),
        /// Free to be spent.
        available_micro: i64 = customer.available.0,
        /// Held for requests under way.
        held_micro: i64 = customer.reserved.0,
        /// Spent.
        spent_micro: i64 = customer.spent.0,
        /// All that was paid in, less what was taken back.
        deposited_micro: i64 = customer.deposited.0,
        /// What counts against the quota now: all that is held and spent, or that of the present period. Null without a quota.
        quota_used_micro: Option<i64> = quota.map(|quota| quota.used.0),
        /// When the quota resets next; null where it never does.
        quota_resets: Option<Moment> = quota.and_then(|quota| quota.resets).map(Moment),
        /// Counts edits.
        revision: u64 = customer.revision,
        #[serde(flatten)]
        policy: QuotaPolicy = policy,
    }
}

view! {
    /// What an edit of a customer may change. `null` takes a limit away.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(rename = "CustomerPolicy")]
    struct QuotaPolicy of (policy: CustomerPolicy) {
        /// Spending limit of all its keys together, zero or more; null is no limit but the balance.
        #[serde(default)]
        quota_micro: Option<i64> = policy.quota.map(|quota| quota.0),
        /// How often the quota resets; null is never. Another period begins with nothing used.
        #[serde(default)]
        quota_period: Option<Period> = policy.quota_period.map(Period),
        /// Its webhooks get `balance.low` once what it has not spent, held or not, falls below this; null tells nothing.
        #[serde(default)]
        low_balance_micro: Option<i64> = policy.low_balance.map(|low| low.0),
        /// Its webhooks get `quota.reached` once so many percent of its quota are used, 1 to 100; null tells nothing.
        #[serde(default)]
        quota_alert_percent: Option<u8> = policy.quota_alert,
        /// The variant of the price book that its requests are priced by, one of `price_variants` in the configuration; null for
        /// the book itself. A task keeps the price of its submission.
        #[serde(default)]
        price_variant: Option<String> = policy.price_variant,
    }
}

/// A customer to be opened.
// Its policy is read in a second step, which refuses an unknown field.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NewCustomer {
    /// 1 to 64 letters, digits and `- _ . @`.
    id: String,
    #[serde(flatten)]
    #[schemars(with = "QuotaPolicy")]
    policy: Map<String, Value>,
}

/// Credits to be paid in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewDeposit {
    /// More than zero.
    amount_micro: i64,
    /// For the ledger; at most 200 bytes.
    #[serde(default)]
    memo: String,
}

/// Credits to be taken back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewWithdrawal {
    /// More than zero, at most what is available.
    amount_micro: i64,
    /// For the ledger; at most 200 bytes.
    #[serde(default)]
    memo: String,
}

/// A correction of a balance.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewAdjustment {
    /// More or less than zero.
    amount_micro: i64,
    /// Why; goes into the ledger and the audit record. 1 to 200 bytes.
    reason: String,
}

/// Money that an operator moved.
#[derive(Debug, Serialize, JsonSchema)]
struct MoneyMoved {
    /// The row of the ledger. A repetition of the request answers with the same row.
    entry: MoneyEntry,
    /// The customer as it is now.
    customer: CustomerView,
}

view! {
    /// A row of the ledger.
    #[derive(Debug, Serialize, JsonSchema)]
    struct MoneyEntry of (entry: JournalEntry) where {
        let id = entry_id(&entry);
    } {
        /// Its id, as in the ledger.
        id: String = id,
        /// When.
        at: Moment = entry.at.into(),
        /// Paid in, or taken back when negative.
        amount_micro: i64 = entry.movement.available.0,
        /// For people.
        memo: String = entry.memo,
    }
}

impl From<QuotaPolicy> for CustomerPolicy {
    fn from(policy: QuotaPolicy) -> Self {
        let QuotaPolicy { quota_micro, quota_period, low_balance_micro, quota_alert_percent, price_variant } =
            policy;
        Self {
            quota: quota_micro.map(Credits),
            quota_period: quota_period.map(|period| period.0),
            low_balance: low_balance_micro.map(Credits),
            quota_alert: quota_alert_percent,
            price_variant,
        }
    }
}

impl Edited for CustomerView {
    fn revision(&self) -> u64 {
        self.revision
    }
}

async fn list(call: Call) -> Outcome {
    let (prefix, limit) = (call.query.one("id_prefix"), call.query.limit());
    let after = call.position::<String>()?.or_else(|| prefix.map(before_prefix)).map(CustomerId);
    let store = &call.service.store;
    let page = match call.query.flag("without_credit") {
        true => store.customers_without_credit(after, limit).await?,
        false => store.list_customers(after, limit).await?,
    };
    let page = of_prefix(page, prefix, |customer| &customer.id.0, |id| &id.0);
    let customers = page.rows.into_iter().map(|customer| CustomerView::from((customer, call.at))).collect();
    call.list(customers, page.next.map(|id| id.0))
}

async fn create(call: Call) -> Outcome {
    let new: NewCustomer = call.json()?;
    let id = CustomerId(new.id.clone());
    if !id.is_allowed() {
        let message = format!("account {:?}: expected 1 to 64 letters, digits and - _ . @", id.0);
        return Err(ApiError::field("id", message));
    }
    let policy: QuotaPolicy = from_value(Value::Object(new.policy.clone()))?;
    call.service.prices.check_variant(policy.price_variant.as_deref())?;
    let policy = CustomerPolicy::from(policy);
    let open = Command::AddCustomer { id: id.clone(), policy: policy.clone(), at: call.at };
    call.commit(open, object(&id), &id.0, 201, created(&new)).await?;
    let customer = CustomerView::from((Customer::new(id, call.at, policy), call.at));
    Ok(Reply::created(&customer).with_etag(&customer.etag()))
}

async fn show(call: Call) -> Outcome {
    let customer = find(&call, &CustomerId::from(call.path("customer"))).await?;
    call.object(&customer, &customer.etag())
}

async fn edit(call: Call) -> Outcome {
    let id = CustomerId::from(call.path("customer"));
    let before = find(&call, &id).await?;
    check_edited(&call.headers, &before)?;
    let after: QuotaPolicy = from_value(patched(&before.policy, call.json()?)?)?;
    if after.price_variant != before.policy.price_variant {
        call.service.prices.check_variant(after.price_variant.as_deref())?;
    }
    let changes = changes(&before.policy, &after);
    let (revision, policy) = (before.revision, after.into());
    let command = Command::EditCustomer { id: id.clone(), revision, policy, at: call.at };
    let view = |left: Applied| match left {
        Applied::Customer(row) => Some(CustomerView::from((*row, call.at))),
        _ => None,
    };
    call.commit_edit(command, object(&id), &id.0, changes, view, find(&call, &id)).await
}

async fn deposit(call: Call) -> Outcome {
    let NewDeposit { amount_micro, memo } = call.json()?;
    check_amount(Credits(amount_micro), &memo)?;
    move_money(call, Credits(amount_micro), memo, "memo").await
}

async fn withdraw(call: Call) -> Outcome {
    let NewWithdrawal { amount_micro, memo } = call.json()?;
    check_amount(Credits(amount_micro), &memo)?;
    // More than zero, so the sign can be turned.
    move_money(call, Credits(-amount_micro), memo, "memo").await
}

async fn adjust(call: Call) -> Outcome {
    let NewAdjustment { amount_micro, reason } = call.json()?;
    if reason.trim().is_empty() || reason.len() > 200 {
        return Err(ApiError::field("reason", "reason: expected 1 to 200 bytes of text"));
    }
    if amount_micro == 0 {
        return Err(ApiError::field("amount_micro", "amount_micro: expected more or less than zero"));
    }
    move_money(call, Credits(amount_micro), format!("adjustment: {reason}"), "reason").await
}

async fn move_money(call: Call, amount: Credits, memo: String, words: &str) -> Outcome {
    let customer = CustomerId::from(call.path("customer"));
    let changes = vec![told("amount_micro", amount.0), told(words, memo.as_str())];
    let deposit = Command::Deposit { customer: customer.clone(), amount, memo, at: call.at };
    let committed = call.commit(deposit, object(&customer), &customer.0, 201, changes).await?;
    let entry = committed.entry;
    let view = |left: Applied| match left {
        Applied::Deposited { entry, customer, .. } => {
            Some(MoneyMoved { entry: (*entry).into(), customer: CustomerView::from((*customer, call.at)) })
        }
        _ => None,
    };
    let moved = committed.shown(view, find_moved(&call, entry, &customer)).await?;
    Ok(Reply::created(&moved))
}

/// What was moved when the request came first.
async fn find_moved(call: &Call, entry: Option<u64>, customer: &CustomerId) -> Result<MoneyMoved, ApiError> {
    let entry = match entry {
        Some(number) => call.service.store.journal_entry(number).await?,
        None => None,
    };
    let entry = entry.ok_or_else(|| ApiError::new(Kind::Internal, "the ledger row is not there"))?;
    Ok(MoneyMoved { entry: entry.into(), customer: find(call, customer).await? })
}

fn check_amount(amount: Credits, memo: &str) -> Result<(), ApiError> {
    if amount <= Credits::ZERO {
        let message = format!("amount: expected more than zero credits, not {amount}");
        return Err(ApiError::field("amount", message));
    }
    if memo.len() > 200 {
        return Err(ApiError::field("memo", "memo: expected at most 200 bytes"));
    }
    Ok(())
}

async fn find(call: &Call, id: &CustomerId) -> Result<CustomerView, ApiError> {
    let found = ApiError::found(call.service.store.customer(id).await?, format_args!("customer {id}"))?;
    Ok(CustomerView::from((found, call.at)))
}

fn object(id: &CustomerId) -> String {
    format!("customers/{id}")
}
