#!/bin/sh
# Writes family.wasm. Needs cargo; the target is installed where it is missing.
set -eu
cd "$(dirname "$0")"
if command -v rustup >/dev/null; then
    rustup target list --installed | grep -q wasm32-wasip2 || rustup target add wasm32-wasip2
fi
# A heap from the start: a memory that has to grow makes each call dearer.
cargo build --profile plugin --target wasm32-wasip2 \
    --config 'target.wasm32-wasip2.rustflags = ["-Clink-arg=--initial-memory=2097152"]'
cp "${CARGO_TARGET_DIR:-target}/wasm32-wasip2/plugin/gatehouse_family_template.wasm" family.wasm
