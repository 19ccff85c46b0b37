//! Text under load: many streams, slow providers, customers beside each other, and what a request costs.

mod fairness;
mod full_queue;
mod instances;
mod slow_providers;
mod thousand_streams;
