//! What `wit-bindgen` makes of the contract. Hidden: authors use the types of this crate, and only
//! `adapter` and `convert` look in here.

#![allow(missing_docs, unreachable_pub, unsafe_code, unused_qualifications, elided_lifetimes_in_paths)]

wit_bindgen::generate!({
    path: "../wit/v1",
    world: "family",
    pub_export_macro: true,
    export_macro_name: "export_bindings",
    default_bindings_module: "gatehouse_sdk::bindings",
});
