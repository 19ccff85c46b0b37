//! Text through the real listener, over simulated providers of either protocol: crowds of streams, providers that
//! are slow to begin, and providers that answer in another form than they were asked for.

mod crowd;
mod head;
mod large;
mod scene;
mod unfolded;
