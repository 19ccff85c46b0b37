#!/bin/sh
# Writes family.wasm. Needs python3 (3.10 or newer) with venv; the first run installs the tools of requirements.txt.
set -eu
cd "$(dirname "$0")"
tools="${GATEHOUSE_PYTHON_TOOLS:-.venv}"
if [ ! -x "$tools/bin/componentize-py" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
fi
"$tools/bin/componentize-py" --wit-path wit --world jobs-family componentize app --output family.wasm
