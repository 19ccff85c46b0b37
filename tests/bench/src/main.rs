//! `gatehouse-bench`: what the release build costs, one command for each figure.
//!
//! Starts the real gateway on fresh data with a provider that only answers, loads it over keep-alive connections, and
//! reads CPU and memory of the gateway from `/proc`. Run by hand on a quiet machine. A failed request ends the run,
//! since its figure would mean nothing. Asserts no time.

mod arguments;
mod figures;
mod gateway;
mod http1;
mod image_provider;
mod load;
mod metrics;
mod process;
mod report;
mod server;
mod text_provider;

use arguments::{Arguments, Figure};
use clap::Parser as _;

fn main() {
    let arguments = Arguments::parse();
    gatehouse_harness::run(async {
        match arguments.figure {
            Figure::Crowd => figures::crowd::measure(&arguments).await,
            Figure::Flood => figures::flood::measure(&arguments).await,
            Figure::Image => figures::tasks::with_picture(&arguments).await,
            Figure::Large => figures::text::large(&arguments).await,
            Figure::Life => figures::tasks::whole_lives(&arguments).await,
            Figure::Listing => figures::listing::measure(&arguments).await,
            Figure::Live => figures::live::measure(&arguments).await,
            Figure::Plugin => figures::plugin::measure(&arguments).await,
            Figure::Poll => figures::tasks::read(&arguments).await,
            Figure::Start => figures::start::measure(&arguments).await,
            Figure::Stream => figures::text::streamed(&arguments).await,
            Figure::Submit => figures::tasks::submitted(&arguments).await,
            Figure::Swap => figures::swap::measure(&arguments).await,
            Figure::Text => figures::text::whole(&arguments).await,
            Figure::Traces => figures::traces::measure(&arguments).await,
        }
    });
}
