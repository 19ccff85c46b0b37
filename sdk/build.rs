//! Writes the component types that `export_family!` puts into a plugin: one world for each interface of the contract.
//! The linker joins those of the interfaces that a family names, so a component declares exactly what it exports.

use std::error::Error;
use std::path::PathBuf;

use wit_component::{StringEncoding, metadata};
use wit_parser::Resolve;

const CONTRACT: &str = "gatehouse:family";
const VERSION: &str = "1.0.0";
const INTERFACES: [&str; 7] = ["manifest", "jobs", "views", "bulk", "text", "dialect", "direct"];

#[expect(clippy::disallowed_methods, reason = "a build script: cargo speaks to it through the environment")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=wit");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for interface in INTERFACES {
        let mut resolve = Resolve::default();
        resolve.push_dir("wit")?;
        let world = format!(
            "package gatehouse:exports;\nworld only-{interface} {{ export {CONTRACT}/{interface}@{VERSION}; }}\n"
        );
        let package = resolve.push_str("world.wit", &world)?;
        let world = resolve.select_world(&[package], None)?;
        let bytes = metadata::encode(&resolve, world, StringEncoding::UTF8, None)?;
        std::fs::write(out.join(interface), bytes)?;
    }
    Ok(())
}
