//! What is written beside the rows: the lengths of lists, the items of kept responses, and the partitions of the days in which tasks were
//! created.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Customer, TaskId};
use gatehouse_tasks::{Kind, ResponseRecord, RowChange, RowKey, WebhookDelivery, WebhookEndpoint};

use super::{CUSTOMERS, TROUBLED_WEBHOOKS, WAITING_DELIVERIES, WITHOUT_CREDIT, Writes};
use crate::engine::write::sides;
use crate::postgres::sql::{days, texts};

const MAKE_DAYS: &str = "select make_days($1)";
const PUT_ITEMS: &str = "
    insert into response_item (customer, item, id)
    select * from unnest($1, $2, $3)
    on conflict (customer, item) do update set id = excluded.id";
const DELETE_ITEMS: &str = "
    delete from response_item
    using unnest($1, $2) as gone (customer, item)
    where response_item.customer = gone.customer and response_item.item = gone.item";

impl<'a> Writes<'a> {
    /// What changes of one kind need beside their rows.
    pub(super) fn beside(&mut self, group: &'a [RowChange]) {
        match &group[0].key {
            RowKey::Customer(_) => {
                self.list(CUSTOMERS, group, |_: &Customer| true);
                self.list(WITHOUT_CREDIT, group, |row: &Customer| !row.has_credit());
            }
            RowKey::Delivery(_) => {
                self.list(WAITING_DELIVERIES, group, |row: &WebhookDelivery| row.due().is_some());
            }
            RowKey::Webhook(_) => self.list(TROUBLED_WEBHOOKS, group, WebhookEndpoint::is_troubled),
            RowKey::Response(..) => self.items(group),
            RowKey::Steps(..) | RowKey::Task(_) => self.make_days(group),
            _ => {}
        }
    }

    /// By how many rows a list becomes longer.
    fn list<T: Kind>(&mut self, list: &'static str, group: &[RowChange], is_in: impl Fn(&T) -> bool) {
        let longer = self.longer.entry(list).or_default();
        for change in group {
            let (before, after) = sides::<T>(change);
            *longer += i64::from(after.is_some_and(&is_in)) - i64::from(before.is_some_and(&is_in));
        }
    }

    fn items(&mut self, group: &'a [RowChange]) {
        // A provider may use an item's id again: the last response has it.
        let mut items: BTreeMap<(&str, &str), Option<&str>> = BTreeMap::new();
        for change in group {
            let RowKey::Response(customer, id) = &change.key else { continue };
            let (before, after) = sides::<ResponseRecord>(change);
            let of = |row: Option<&'a ResponseRecord>| row.into_iter().flat_map(|row| &row.items);
            items.extend(of(before).map(|item| ((customer.0.as_str(), item.as_str()), None)));
            items.extend(of(after).map(|item| ((customer.0.as_str(), item.as_str()), Some(id.as_str()))));
        }
        let gone: Vec<_> = items.iter().filter(|(_, id)| id.is_none()).map(|(key, _)| *key).collect();
        let values = vec![texts(gone.iter().map(|key| key.0)), texts(gone.iter().map(|key| key.1))];
        self.add(gone.len(), DELETE_ITEMS, values);
        let kept: Vec<_> = items.iter().filter_map(|(key, id)| Some((*key, (*id)?))).collect();
        let values = vec![
            texts(kept.iter().map(|(key, _)| key.0)),
            texts(kept.iter().map(|(key, _)| key.1)),
            texts(kept.iter().map(|(_, id)| *id)),
        ];
        self.add(kept.len(), PUT_ITEMS, values);
    }

    /// Sees to it that there are partitions for tasks and their logs.
    fn make_days(&mut self, group: &[RowChange]) {
        let day = |id: &TaskId| id.timestamp().day();
        let new = group.iter().filter_map(|change| match &change.key {
            RowKey::Steps(task, _) => Some(day(task)),
            RowKey::Task(id) => change.before.is_none().then(|| day(id)),
            _ => None,
        });
        let of: BTreeSet<u32> = new.collect();
        self.add(of.len(), MAKE_DAYS, vec![days(of)]);
    }
}
