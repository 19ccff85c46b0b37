//! Customers: the list, one customer with its money, a new one.

pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod one;

use gatehouse_model::{Customer, CustomerId};
use maud::{Markup, html};

use crate::parts::elements::{Tone, chip};

/// The address of a customer's page. Its id has letters that an address needs escaped.
pub(crate) fn address(id: &CustomerId) -> String {
    format!("/customers/{}", url::form_urlencoded::byte_serialize(id.0.as_bytes()).collect::<String>())
}

/// Whether its requests can be paid for.
pub(super) fn state(customer: &Customer) -> Markup {
    html! {
        @if !customer.has_credit() { (chip(Tone::Warn, "402 for all its keys")) }
        @else { (chip(Tone::Ok, "active")) }
    }
}
