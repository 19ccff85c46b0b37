//! The simulated providers from outside: through their sockets, by a client that knows nothing of their code.

mod ark;
mod client;
mod context;
mod dashscope;
mod faults;
mod files;
mod imagine;
mod midjourney;
mod text;
mod veo;
