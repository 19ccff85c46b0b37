#!/bin/sh
# Writes family.wasm. Needs python3 (3.10 or newer) with venv; whenever requirements.txt has changed, its packages are
# installed. The family may import those that are pure Python.
set -eu
cd "$(dirname "$0")"
tools="${GATEHOUSE_PYTHON_TOOLS:-.venv}"
if ! cmp -s requirements.txt "$tools/requirements.installed"; then
    # Made anew, so that what is no longer required is gone; a folder that this script has not made stays.
    if [ -e "$tools/requirements.installed" ]; then rm -r "$tools"; fi
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
    cp requirements.txt "$tools/requirements.installed"
fi
# Without it the packages of the whole machine would be looked at.
export VIRTUAL_ENV="$tools"
"$tools/bin/componentize-py" --wit-path wit --world jobs-family componentize app --output family.wasm
