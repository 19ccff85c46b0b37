//! Usage and statements on a real store: however they are filtered and grouped, their sums are those of the ledger.

use gatehouse_model::{
    Credits, CustomerId, CustomerPolicy, KeyId, KeyPolicy, RequestId, Tags, UnixMs, Usage,
};
use gatehouse_store::UsagePeriod;
use gatehouse_tasks::{Command, EntryKind, UsageSums};

use super::service;
use crate::service::{NewKey, StatementRequest, StatementSums};
use crate::{AdminService, UsageGroups, UsageRequest};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

async fn apply(service: &AdminService, command: Command) {
    service.store.execute(command).await.unwrap().unwrap();
}

/// Two customers with two keys each, three days of requests of two models, some of which fail. Gives the keys.
async fn filled() -> (AdminService, tempfile::TempDir, Vec<KeyId>) {
    let (service, folder) = service();
    let mut keys = Vec::new();
    for customer in ["acme", "other"] {
        let (customer, at) = (CustomerId::from(customer), UnixMs(0));
        let policy = CustomerPolicy::default();
        apply(&service, Command::AddCustomer { id: customer.clone(), policy, at }).await;
        let deposit = Command::Deposit {
            customer: customer.clone(),
            amount: Credits(100_000),
            memo: "=cash".into(),
            at,
        };
        apply(&service, deposit).await;
        for name in ["one", "two"] {
            let policy = KeyPolicy { name: name.to_owned(), ..KeyPolicy::default() };
            let new = NewKey { customer: customer.clone(), policy, force: false };
            let (key, _) = service.keys.mint(new).unwrap();
            keys.push(key.id.clone());
            apply(&service, Command::AddKey { key: Box::new(key) }).await;
        }
    }
    for number in 0..90_u64 {
        let at = UnixMs(number * DAY / 30 + 1);
        let (id, key) = (
            RequestId::from_bits((u128::from(at.0) << 80) | u128::from(number)),
            &keys[usize::try_from(number % 4).unwrap()],
        );
        let model = ["small", "large"][usize::try_from(number / 4 % 2).unwrap()].to_owned();
        let amount = Credits(100);
        let expires = UnixMs(at.0 + HOUR);
        apply(&service, Command::Hold { id, key: key.clone(), amount, model, expires, at }).await;
        let tokens = Usage { input: number, output: 1, cached: 2, cache_write: 0, ..Usage::default() };
        apply(
            &service,
            match number % 9 {
                0 => Command::Release { id, at },
                part => Command::Settle {
                    id,
                    amount: Credits(i64::try_from(part).unwrap()),
                    memo: String::new(),
                    tokens,
                    tags: Tags::default(),
                    at,
                },
            },
        )
        .await;
    }
    (service, folder, keys)
}

fn request(groups: UsageGroups, created: std::ops::Range<u64>) -> UsageRequest {
    let created = UnixMs(created.start)..UnixMs(created.end);
    UsageRequest { groups, customer: None, key: None, models: vec![], created }
}

/// What the ledger says: requests, failures, settled, refunded.
async fn ledger(service: &AdminService, request: &UsageRequest) -> (u64, u64, i64, i64) {
    let statement = StatementRequest {
        customer: request.customer.clone(),
        key: request.key.clone(),
        created: request.created.clone(),
        before: None,
        limit: 1000,
    };
    let rows = service.statements.page(statement).await.unwrap().rows;
    let ends = rows
        .iter()
        .map(|row| &row.entry)
        .filter(|entry| matches!(entry.kind, EntryKind::Settle | EntryKind::Release));
    ends.fold((0, 0, 0, 0), |sums, entry| {
        let failed = entry.kind == EntryKind::Release;
        let back = if failed { entry.movement.available.0 } else { 0 };
        (sums.0 + 1, sums.1 + u64::from(failed), sums.2 + entry.movement.spent.0, sums.3 + back)
    })
}

fn short(sums: &UsageSums) -> (u64, u64, i64, i64) {
    (sums.requests, sums.failures, sums.settled.0, sums.refunded.0)
}

/// Report, its rows, the full listing and the ledger: one sum.
async fn check(service: &AdminService, request: &UsageRequest) -> usize {
    let report = service.usage.report(request).await.unwrap();
    let mut rows = UsageSums::default();
    report.rows.iter().for_each(|row| rows.add(&row.sums));
    assert_eq!(rows, report.total, "{request:?}");
    let (mut listed, mut after) = (UsageSums::default(), None);
    loop {
        let piece = service.usage.rows(request, after).await.unwrap();
        piece.rows.iter().for_each(|row| listed.add(&row.sums));
        after = piece.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, report.total, "{request:?}");
    if request.models.is_empty() {
        assert_eq!(ledger(service, request).await, short(&report.total), "{request:?}");
    }
    report.rows.len()
}

#[tokio::test]
async fn every_filter_and_grouping_sums_up_to_the_ledger() {
    let (service, _folder, keys) = filled().await;
    let bits = |number: u32, bit: u32| number & (1 << bit) != 0;
    for groups in 0..8 {
        for period in [None, Some(UsagePeriod::Day), Some(UsagePeriod::Hour)] {
            let groups = UsageGroups {
                period,
                customer: bits(groups, 0),
                key: bits(groups, 1),
                model: bits(groups, 2),
            };
            for time in [0..3 * DAY, DAY..2 * DAY, 5 * DAY..6 * DAY] {
                let all = request(groups, time);
                check(&service, &all).await;
                check(&service, &UsageRequest { customer: Some("acme".into()), ..all.clone() }).await;
                check(&service, &UsageRequest { key: Some(keys[1].clone()), ..all.clone() }).await;
                check(&service, &UsageRequest { models: vec!["large".into()], ..all }).await;
            }
        }
    }
    let hours = request(UsageGroups::default(), HOUR..5 * HOUR);
    assert_eq!(check(&service, &hours).await, 1);
    let by_key = request(UsageGroups { key: true, ..UsageGroups::default() }, 0..3 * DAY);
    assert_eq!(check(&service, &by_key).await, 4);
    let both = UsageGroups { period: Some(UsagePeriod::Day), model: true, ..UsageGroups::default() };
    let report = service.usage.report(&request(both, 0..3 * DAY)).await.unwrap();
    assert_eq!(report.rows.len(), 6);
    assert!(report.rows.is_sorted_by_key(|row| std::cmp::Reverse(row.since)));
    assert!(report.rows.iter().all(|row| row.customer.is_none() && row.key.is_none()));
    // A key of another customer has no usage there.
    let foreign = UsageRequest { customer: Some("other".into()), key: Some(keys[0].clone()), ..by_key };
    assert_eq!(service.usage.report(&foreign).await.unwrap().total, UsageSums::default());
    assert!(service.store.examine_with(&std::sync::Arc::default()).unwrap().is_clean());
}

#[tokio::test]
async fn many_rows_are_summed_up_by_day() {
    let (service, _folder, keys) = filled().await;
    let (acme, one) = (Some(CustomerId::from("acme")), Some(keys[0].clone()));
    for (customer, key) in [(None, None), (acme.clone(), None), (None, one.clone()), (acme, one)] {
        for days in [0..3, 0..1, 1..2, 1..9, 7..8] {
            let created = UnixMs(days.start * DAY)..UnixMs(days.end * DAY);
            let request = StatementRequest {
                customer: customer.clone(),
                key: key.clone(),
                created,
                before: None,
                limit: 1,
            };
            let rows = service.statements.sums_of_rows(request.clone()).await.unwrap();
            let by_day = service.statements.sums_of_days(request.clone()).await.unwrap().expect("whole days");
            // What all customers together hold is not kept by day.
            let held = rows.held.filter(|_| customer.is_some() || key.is_some());
            assert_eq!(by_day, StatementSums { rows: None, held, ..rows }, "{request:?}");
            assert_eq!(service.statements.sums(request.clone()).await.unwrap(), Some(rows));
            let created = request.created.start..UnixMs(request.created.end.0 - 1);
            let cut = StatementRequest { created, ..request };
            assert_eq!(service.statements.sums_of_days(cut).await.unwrap(), None, "no whole days");
        }
    }
    let all = StatementRequest {
        customer: Some("acme".into()),
        key: None,
        created: UnixMs(0)..UnixMs(u64::MAX),
        before: None,
        limit: 7,
    };
    let rows = service.statements.sums_of_rows(all.clone()).await.unwrap().rows.expect("few rows");
    for (max, counted) in [(u64::from(u32::MAX), rows), (rows, rows), (7, 8)] {
        assert_eq!(service.statements.rows(all.clone(), max).await.unwrap(), counted);
    }
}
