//! Scripts for families: what a client sends, what the provider answers, what the family must return.
//!
//! A [`Script`] runs natively ([`Script::run_native`]) and against the built component under the host's
//! own limits ([`Script::run_component`]). Both ways every call is made twice with equal results, the state
//! is encoded between steps, and the host's rules are checked. Time and seed are arguments, so a job of half
//! an hour takes microseconds. Never opens a socket.
//!
//! ```
//! # use gatehouse_sdk::*;
//! # use serde_json::json;
//! # struct Echo;
//! # impl Family for Echo {
//! #     fn about() -> About {
//! #         let model = Model::new("echo-1").serves("images.generate");
//! #         About::new("echo", "0.1.0").model(model).provider("echo").price_key("echo-1")
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

mod component;
mod convert;
mod facts;
mod machine;
mod manifest;
mod optional;
mod player;
mod rules;
mod script;
mod text;

pub use component::Component;
pub use facts::picture;
pub use gatehouse_runtime::Limits;
pub use manifest::check_family;
pub use script::Script;
pub use text::TextPlay;
