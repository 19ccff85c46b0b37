//! The console in a real browser: what people do with it, and for every page that it breaks no policy, is accessible in
//! both themes, and fits a phone.
//!
//! Needs Debian's `chromium` and `chromium-driver`; installs them where it may, fails and names them where it may not.

mod accessibility;
mod account;
mod ambiguous;
mod browser;
mod chromium;
mod flows;
mod follow;
mod foreign_page;
mod identity_provider;
mod playground;
mod plugins;
mod recipes;
mod scene;
mod screens;
mod webdriver;
