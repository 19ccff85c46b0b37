#!/bin/sh
# Writes family.wasm. Needs node (18 or newer) with npm; the first run installs the tools of package.json.
set -eu
cd "$(dirname "$0")"
tools="${GATEHOUSE_JS_TOOLS:-node_modules}"
if [ ! -x "$tools/.bin/componentize-qjs" ]; then
    npm install --no-audit --no-fund --silent
fi
"$tools/.bin/componentize-qjs" --sync --wit wit --world jobs-family --js family.js --output family.wasm
