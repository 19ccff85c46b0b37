//! Scripts for families: what a client sends, what the provider answers, what the family must return.
//!
//! A [`Script`] is made in Rust, or read from a file that authors of every language write ([`Script::read`]). It runs
//! natively ([`Script::run_native`]); `gatehouse plugin play` plays the same file against the built component, under the
//! host's own limits. Both ways every call is made twice with equal results, the state is encoded between steps, and the
//! host's rules are checked. Time and seed are arguments, so a job of half an hour takes microseconds. Never opens a socket.
//!
//! The kit has no engine and no crate of the host: it builds in seconds.
//!
//! ```
//! # use gatehouse_sdk::*;
//! # use serde_json::json;
//! # struct Echo;
//! # impl Family for Echo {
//! #     fn about() -> About {
//! #         let model = Model::new("echo-1").serves("images.generate");
//! #         let surface = Surface::new::<serde_json::Value>("images.generate");
//! #         About::new("echo", "0.1.0").model(model).surface(surface).provider("echo").price_key("echo-1")
//! #     }
//! # }
//! # impl Jobs for Echo {
//! #     type State = ();
//! #     fn submit(_: &Context, _: Submission) -> Result<Accepted<()>, Refusal> {
//! #         Ok(Accepted::new("echo-1", Charge::keys(["echo-1"]), ()))
//! #     }
//! #     fn advance(_: &Context, (): (), event: Event) -> Step<()> {
//! #         match event {
//! #             Event::Reply(reply) => Step::done((), Outcome::new(reply.json().unwrap())),
//! #             _ => Step::call((), Call::post("echo", "/v1/say")),
//! #         }
//! #     }
//! # }
//! use gatehouse_testkit::Script;
//!
//! Script::new()
//!     .submit("images.generate", json!({"prompt": "hello"}))
//!     .expect_accepted(|accepted| assert_eq!(accepted.model, "echo-1"))
//!     .start()
//!     .expect_call(|call| assert_eq!(call.method, "POST"))
//!     .reply(200, json!({"said": "hello"}))
//!     .expect_done(|outcome| assert_eq!(outcome.public["said"], "hello"))
//!     .run_native::<Echo>();
//! ```

mod conversation;
mod direct;
mod lines;
mod machine;
mod manifest;
mod player;
mod rules;
mod script;
mod written;

pub use conversation::{Conversation, Exchange, ProviderAnswer};
pub use direct::DirectMachine;
pub use gatehouse_sdk::{Body, Framing, Outage, Reply, Sse};
pub use machine::{Declared, DialectMachine, Machine, NativeDialect, NativeText, Played};
pub use manifest::check_family;
pub use script::{Script, picture};
pub use written::difference;
