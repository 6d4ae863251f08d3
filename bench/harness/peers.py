"""Installs those we are measured beside, by name and pinned version, below target/bench. What is there already stays."""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

from .measure import say

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "bench" / "peers"
CACHE = ROOT / "target" / "bench"
NODE = CACHE / "node"
OMP = CACHE / "omp"
PYTHON = CACHE / "python"
PROXY = CACHE / "python-proxy"
CRATES = CACHE / "cargo"
#: Rust programs, from crates.io.
PROGRAMS = {"mcp2cli": "0.1.10", "mcp-proxy": "0.6.0"}
#: Those that are not there, and why.
ABSENT = {
    "1mcp": "not measured: no package of that name was found on npm",
    "mcp-hub": "in front it offers only the transport of 2024-11-05, which the load program does not speak",
    "agentgateway": "needs a newer Rust, and dependencies that are not on crates.io",
    "pi-mcp-adapter": "an extension of a host agent, no program of its own",
    "codex, claude, gemini": "their `mcp list` starts no server, or they are several hundred megabytes each",
}


def install():
    """Installs all that can be; gives for each group that could not be the reason."""
    CACHE.mkdir(parents=True, exist_ok=True)
    missing = {}
    for name, step in STEPS.items():
        try:
            step()
        except (subprocess.SubprocessError, OSError) as error:
            words = getattr(error, "stderr", None) or str(error)
            missing[name] = str(words).strip().splitlines()[-1][:160]
            say(f"install: {name} failed: {missing[name]}")
    return missing


def node():
    """The Node that comes with the packages, or else the system's."""
    own = sorted(NODE.glob("node_modules/node-*/bin/node"))
    return str(own[0]) if own else shutil.which("node") or "node"


def bun():
    return str(next(iter(sorted(OMP.glob("node_modules/@oven/bun-*/bin/bun"))), "bun"))


def package(name):
    """The command of an npm package, run by that Node."""
    return [node(), str(NODE / "node_modules" / ".bin" / name)]


def versions():
    """Of everything that is installed, as it says itself."""
    found = {"Node": text([node(), "--version"]), "Python": platform.python_version(), "Rust": text(["rustc", "--version"]).split(" ")[1]}
    for folder in (NODE, OMP):
        pinned = folder / "package.json"
        names = json.loads(pinned.read_text())["dependencies"] if pinned.exists() else {}
        for name in names:
            manifest = folder / "node_modules" / name / "package.json"
            if manifest.exists():
                found[f"{name} (npm)"] = json.loads(manifest.read_text())["version"]
    for folder, names in ((PYTHON, ("mcp", "fastmcp")), (PROXY, ("mcp-proxy",))):
        for name in names:
            code = f"import importlib.metadata as m; print(m.version('{name}'))"
            if (folder / "bin" / "python").exists():
                found[f"{name} (PyPI)"] = text([str(folder / "bin" / "python"), "-c", code])
    for name, version in PROGRAMS.items():
        if (CRATES / "bin" / name).exists():
            found[f"{name} (crates.io)"] = version
    return found


def text(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (subprocess.SubprocessError, OSError):
        return "not there"


def run(*command, cwd=None):
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=1500)


def is_done(folder, pins):
    """Whether what is installed is what is pinned. The folder is part of it: an environment knows its own path."""
    stamp = folder / "stamp"
    return stamp.exists() and stamp.read_text() == wanted(folder, pins)


def wanted(folder, pins):
    return "\n".join([str(folder), *(Path(pin).read_text() for pin in pins)])


def npm(folder, pins):
    files = [pins / "package.json", pins / "package-lock.json"]
    if not is_done(folder, files):
        say(f"install: packages of {pins.relative_to(ROOT)}/package-lock.json")
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, folder)
        # Not `npm ci`: it wants entries for systems other than this one, which not every registry has.
        run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)
        (folder / "stamp").write_text(wanted(folder, files))
    # Modules are looked for from where a script stands.
    for script in (ROOT / "bench" / "drivers").iterdir():
        if script.suffix in (".mjs", ".ts"):
            shutil.copy(script, folder)


def python(folder, pins):
    if not is_done(folder, [pins]):
        say(f"install: packages of bench/peers/{pins.name}")
        shutil.rmtree(folder, ignore_errors=True)
        run("python3", "-m", "venv", str(folder))
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(*pip, "-r", str(pins))
        (folder / "stamp").write_text(wanted(folder, [pins]))


def crate(name):
    if not (CRATES / "bin" / name).exists():
        say(f"install: {name} {PROGRAMS[name]} from crates.io, which takes minutes")
        to = ["--root", str(CRATES), "--target-dir", str(CACHE / "cargo-target")]
        run("cargo", "install", name, "--version", PROGRAMS[name], "--locked", "--quiet", *to)


def omp():
    if os.environ.get("BENCH_LIGHT"):
        raise OSError("left out, because BENCH_LIGHT is set")
    npm(OMP, PINS / "omp")


STEPS = {
    "npm packages": lambda: npm(NODE, PINS),
    "PyPI packages": lambda: python(PYTHON, PINS / "requirements.txt"),
    "mcp-proxy (PyPI)": lambda: python(PROXY, PINS / "requirements-proxy.txt"),
    "mcp2cli": lambda: crate("mcp2cli"),
    "mcp-proxy (crate)": lambda: crate("mcp-proxy"),
    "oh-my-pi": omp,
}
