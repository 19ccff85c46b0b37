//! Stages and what they depend on: sizes, a check that keeps nothing, the component runner. What each refuses is in
//! `author_mistakes`.

use std::num::NonZeroU32;

use wasmparser::{Parser, Payload};

use crate::tests::common::{self, flawed, open, ready, unruly};
use crate::{ComponentRunner, Limits, Removal};

/// A component that imports one empty interface.
pub fn importing(name: &str) -> Vec<u8> {
    importing_as(name, &[0x42, 0])
}

/// A component that imports an interface with one asynchronous function, whose parameter is a stream of bytes.
pub fn importing_stream(name: &str) -> Vec<u8> {
    let stream = [1, 0x66, 1, 0x7d];
    let function = [1, 0x43, 1, 4, b'd', b'a', b't', b'a', 0, 1, 0];
    let export = [4, 0, 1, b'w', 1, 1];
    importing_as(name, &[&[0x42, 3][..], &stream, &function, &export].concat())
}

fn importing_as(name: &str, instance: &[u8]) -> Vec<u8> {
    let mut wasm = b"\0asm\x0d\0\x01\0".to_vec();
    wasm.extend([7, u8::try_from(instance.len()).unwrap() + 1, 1]);
    wasm.extend(instance);
    let length = u8::try_from(name.len()).unwrap();
    wasm.extend([10, length + 5, 1, 0, length]);
    wasm.extend(name.as_bytes());
    wasm.extend([5, 0]);
    wasm
}

/// Without it the memory grows in each call: it is made writable, taken back after the call, and both interrupt every processor.
#[test]
fn a_component_that_is_built_here_has_a_heap_from_its_start() {
    let pages = Parser::new(0).parse_all(unruly()).filter_map(|payload| match payload.unwrap() {
        Payload::MemorySection(memories) => Some(memories),
        _ => None,
    });
    let pages: Vec<u64> = pages.flatten().map(|memory| memory.unwrap().initial).collect();
    assert_eq!(pages, [32], "pages of 64 KiB; the stack takes sixteen");
}

#[test]
fn a_component_that_is_cut_short_does_not_compile() {
    let (_dir, service, version) = ready();
    let error = service.install(b"\0asm\x0d\0\x01\0\xff".as_slice()).unwrap_err().to_string();
    assert!(error.starts_with("compile: "), "{error}");
    assert_eq!(service.registry().family("unruly").unwrap().digest(), version.digest());
}

#[test]
fn checking_keeps_nothing_but_code() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    // Nothing that another test has compiled.
    let report = (*service).check_with(unruly(), Removal::Refused, None).unwrap();
    assert_eq!((report.active, report.self_tests, report.compiled), (false, 3, true));
    assert!(service.registry().family("unruly").is_none());
    let kept = std::fs::read_dir(dir.path().join("plugins")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name().display().to_string()).collect();
    assert!(kept.len() == 2 && kept.iter().all(|name| name.contains(".cwasm")), "code and its sum: {kept:?}");
}

#[test]
fn a_family_is_held_to_its_own_limit_of_size() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = common::config(dir.path());
    let one = NonZeroU32::new(1).unwrap();
    config.limits = Limits { component_mib: one, ..config.limits };
    let large = [unruly(), &padding(2 << 20)].concat();
    let error = common::open_with(config.clone()).install(&large).unwrap_err().to_string();
    assert!(error.contains("1048576 are allowed"), "{error}");
    let roomy = Limits { component_mib: NonZeroU32::new(4).unwrap(), ..config.limits };
    config.limits_by_family.insert("someone-else".to_owned(), roomy);
    let error = common::open_with(config.clone()).install(&large).unwrap_err().to_string();
    assert!(error.contains("raise `component_mib` for this family"), "{error}");
    config.limits_by_family.insert("unruly".to_owned(), roomy);
    common::open_with(config).install(&large).unwrap();
}

/// A custom section of about `bytes`.
fn padding(bytes: u32) -> Vec<u8> {
    let content = bytes + 2;
    let mut section = vec![0];
    // LEB128 in five bytes.
    let low = [0, 7, 14, 21].map(|shift| u8::try_from((content >> shift) & 0x7f).unwrap() | 0x80);
    section.extend(low);
    section.push(u8::try_from(content >> 28).unwrap());
    section.extend([1, b'p']);
    section.resize(section.len() + bytes as usize, 0);
    section
}

#[tokio::test]
async fn the_component_runner_needs_no_service() {
    let runner = ComponentRunner::load(unruly(), Limits::default()).unwrap();
    assert_eq!(runner.about().family, "unruly");
    let (_dir, _families, version) = ready();
    let judge = || runner.submit(common::context(&version), common::request("ok")).unwrap().unwrap();
    assert_eq!(judge(), judge());
    let fault = runner.submit(common::context(&version), common::request("panic")).unwrap_err();
    assert!(fault.to_string().contains("on purpose"), "{fault}");
    let step = || {
        let cx = common::step_context(&version);
        runner.advance(cx, b"done".to_vec(), gatehouse_model::Event::Start(bytes::Bytes::new())).unwrap()
    };
    assert_eq!(step(), step());
    let refused = runner.migrate(1, vec![]).unwrap_err().to_string();
    assert!(refused.contains("state version 1 is not among those it reads"), "{refused}");
    assert!(ComponentRunner::load(&flawed(b'e'), Limits::default()).is_err());
}
