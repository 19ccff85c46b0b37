#!/usr/bin/env python3
"""Installs the packages that tests use as clients, exactly as pinned, and keeps them until the pins change.

    install.py FOLDER [SET ...]

FOLDER gets a folder for each set; without a name every set is installed. `pins/NAME.txt` is a set of Python packages with
their hashes, installed by uv, which is itself installed from `pins/uv.txt` by pip. `pins/NAME/` is a set of npm packages, and
gets the scripts of `node/` beside them, where node looks for packages. What has been installed is left alone, so this may be
run before the tests, and by several of them at once: each set has a lock. Needs python3 with venv, node and npm.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PINS = HERE / "pins"
# Packages come from the registry, interpreters do not; the machine's certificates count.
UV = {"UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}


def run(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install_uv(folder, kits):
    run([sys.executable, "-m", "venv", folder])
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", PINS / "uv.txt"])


def install_python(folder, kits):
    uv = ready(kits, "uv") / "bin/uv"
    options = {"env": {**os.environ, **UV, "UV_CACHE_DIR": str(kits / "uv-cache")}}
    run([uv, "venv", "--quiet", "--python", sys.executable, folder], **options)
    install = [uv, "pip", "install", "--quiet", "--python", folder / "bin/python"]
    pins = PINS / f"{folder.name}.txt"
    run([*install, "--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", pins], **options)


def install_node(folder, kits):
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PINS / folder.name / name, folder / name)
    options = ["--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund", "--loglevel=error"]
    run(["npm", "ci", *options], cwd=folder)


def place(placed, content):
    if not placed.exists() or placed.read_bytes() != content:
        # Another test may be reading the old one.
        aside = placed.with_suffix(".new")
        aside.write_bytes(content)
        aside.rename(placed)


def place_scripts(folder):
    for script in (HERE / "node").iterdir():
        place(folder / script.name, script.read_bytes())


def keep_bytecode(folder, kits):
    """Compiled sources are kept beside the sets: not in the tree, and also where the environment says to write none."""
    line = f"import sys; sys.dont_write_bytecode = False; sys.pycache_prefix = {str(kits / 'bytecode')!r}\n"
    for packages in folder.glob("lib/python*/site-packages"):
        place(packages / "bytecode.pth", line.encode())


def ready(kits, name):
    """The folder of a set, installed."""
    is_python = (PINS / f"{name}.txt").exists()
    pins = PINS / f"{name}.txt" if is_python else PINS / name / "package-lock.json"
    interpreter = sys.version if is_python else run(["node", "--version"])
    wanted, folder = f"{interpreter}\n{pins.read_text()}", kits / name
    kits.mkdir(parents=True, exist_ok=True)
    with open(kits / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / "stamp"
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            if not is_python:
                folder.mkdir()
            install = install_node if not is_python else install_uv if name == "uv" else install_python
            install(folder, kits)
            stamp.write_text(wanted)
        if is_python:
            keep_bytecode(folder, kits)
        else:
            place_scripts(folder)
    return folder


def main():
    kits, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    for name in names or sorted({path.stem for path in PINS.iterdir()}):
        ready(kits, name)


main()
