//! A dialect's versions: a bad one under real requests, and a swap while streams run.

use gatehouse_harness::{component, run};

use super::brook::install;
use super::{Provider, SURFACES, request, send};

const LINES: &str = "{\"piece\":\"served\"}\n{\"done\":true,\"read\":7,\"wrote\":2}\n";
/// The flaw of a build shows where the provider says this.
const FLAWED: &str = "{\"piece\":\"served\",\"flaw\":true}\n{\"done\":true,\"read\":7,\"wrote\":2}\n";
const MARK: &[u8] = b"-brook-flaw-goes-here-";

/// The build that breaks.
fn flawed(wasm: &[u8]) -> Vec<u8> {
    let mut wasm = wasm.to_vec();
    let found: Vec<usize> = (1..wasm.len() - MARK.len()).filter(|at| wasm[*at..].starts_with(MARK)).collect();
    assert_eq!(found.len(), 1, "the marker must be there exactly once");
    wasm[found[0] - 1] = b'y';
    wasm
}

/// Without it a bad version of a dialect fails the requests of its canary period.
#[test]
fn a_fault_before_the_first_token_is_answered_by_the_version_before() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        let good = component("tests/fixtures/brook");
        install(&scene, "brook.wasm", &good).await;
        install(&scene, "flawed.wasm", &flawed(&good)).await;
        let mut served = 0;
        for surface in SURFACES {
            for stream in [false, true] {
                provider.say(200, "application/x-ndjson", FLAWED);
                let answer = send(&scene, surface, &request(surface, "over-brook", "hi", stream)).await;
                let of = format!("{surface}, streamed: {stream}: {}", answer.text());
                assert!(answer.status == 200 && answer.text().contains("served"), "{of}");
                served += 24;
            }
        }
        assert_eq!((scene.spent().await, provider.count()), (served, SURFACES.len() * 2));
        let versions = scene.gateway.plugins().await;
        assert!(versions.iter().any(|one| one["state"] == "rolled_back"), "it is rolled back: {versions:?}");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it which of two families answers depends on their names.
#[test]
fn two_families_cannot_speak_one_dialect() {
    run(async {
        let scene = Provider::default().scene("").await;
        let first = component("tests/fixtures/brook");
        install(&scene, "brook.wasm", &first).await;
        let (own, other) = (b"streamlet", b"streamlot");
        let mut second = first;
        let at: Vec<usize> =
            (0..second.len() - own.len()).filter(|at| second[*at..].starts_with(own)).collect();
        at.iter().for_each(|at| second[*at..*at + own.len()].copy_from_slice(other));
        let file = scene.gateway.folder().join("second.wasm");
        std::fs::write(&file, second).expect("a file");
        let refused = scene.gateway.try_command(&["plugin", "install", &file.display().to_string()]).await;
        let said = String::from_utf8_lossy(&refused.stdout) + String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success());
        assert!(said.contains("dialect \"brook\" belongs to the active family \"streamlet\""), "{said}");
    });
}

/// Without it a fault of a dialect is billed, or a client reads it as an answer.
#[test]
fn a_fault_that_nobody_takes_over_costs_nothing() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        install(&scene, "flawed.wasm", &flawed(&component("tests/fixtures/brook"))).await;
        for surface in SURFACES {
            for stream in [false, true] {
                provider.say(200, "application/x-ndjson", FLAWED);
                let answer = send(&scene, surface, &request(surface, "over-brook", "hi", stream)).await;
                assert_eq!(answer.status, 500, "{surface}, streamed: {stream}: {}", answer.text());
            }
        }
        provider.say(200, "application/x-ndjson", LINES);
        assert_eq!(scene.spent().await, 0);
        let answer = send(&scene, SURFACES[0], &request(SURFACES[0], "over-brook", "hi", true)).await;
        assert_eq!(answer.status, 200, "what does not meet the flaw is served: {}", answer.text());
        scene.gateway.expect_sound_ledger().await;
    });
}
