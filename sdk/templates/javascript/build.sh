#!/bin/sh
# Writes family.wasm. Needs node (18 or newer) with npm; whenever package.json or package-lock.json has changed, what they
# name is installed.
set -eu
cd "$(dirname "$0")"
tools="${GATEHOUSE_JS_TOOLS:-node_modules}"
named() { cat package.json package-lock.json 2>/dev/null || true; }
if [ "$tools" = node_modules ] && ! named | cmp -s - node_modules/.installed; then
    npm install --no-audit --no-fund --silent
    named > node_modules/.installed
fi
"$tools/.bin/componentize-qjs" --sync --wit wit --world jobs-family --js family.js --module-root . --output family.wasm
