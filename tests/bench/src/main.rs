//! `gatehouse-bench`: what the release build costs, one command for each figure.
//!
//! Starts the real gateway on data of its own, with a provider that does nothing but answer, loads it over
//! keep-alive connections, and reads CPU and memory from the gateway's own accounting in `/proc`. Run by
//! hand on a quiet machine; a request that goes wrong ends the run, since its figure would mean nothing.
//! Never decides whether a figure is good: tests do not assert times, and neither does this.

mod arguments;
mod disk;
mod figures;
mod house;
mod load;
mod metrics;
mod process;
mod provider;
mod report;
mod writer;

use std::process::ExitCode;

use arguments::{Arguments, Figure};

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            report::complain(&mistake);
            return ExitCode::from(2);
        }
    };
    gatehouse_harness::run(async {
        match arguments.figure {
            Figure::Crowd => figures::crowd::measure(&arguments).await,
            Figure::Image => figures::image::measure(&arguments).await,
            Figure::Large => figures::text::large(&arguments).await,
            Figure::Life => figures::life::measure(&arguments).await,
            Figure::Listing => figures::listing::measure(&arguments).await,
            Figure::Live => figures::live::measure(&arguments).await,
            Figure::Plugin => figures::plugin::measure(&arguments).await,
            Figure::Poll => figures::poll::measure(&arguments).await,
            Figure::Start => figures::start::measure(&arguments).await,
            Figure::Stream => figures::text::streamed(&arguments).await,
            Figure::Submit => figures::submit::measure(&arguments).await,
            Figure::Swap => figures::swap::measure(&arguments).await,
            Figure::Text => figures::text::whole(&arguments).await,
        }
    });
    ExitCode::SUCCESS
}
