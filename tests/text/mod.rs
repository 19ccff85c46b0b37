//! Text through the real listener, over simulated providers of both protocols: a thousand streams at once, slow
//! providers, large bodies, the lines of the log, clients that leave, and providers that answer in another form than the request.

mod dialects;
mod embeddings;
mod large;
mod left;
mod load;
mod log_lines;
mod logprobs;
mod media_types;
mod money;
mod one_body_streams;
mod other_forms;
mod replay;
mod responses;
pub(crate) mod scene;
mod second_account;
mod targets;
