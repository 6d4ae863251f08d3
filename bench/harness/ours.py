"""Builds what is measured: the program, the small programs of the testkit, and the benchmarks, all in one go."""

import json
import os
import subprocess

from .measure import say
from .peers import ROOT

#: BENCH_PROFILE=dist is what is shipped and builds for many minutes more. The report says which it was.
PROFILE = os.environ.get("BENCH_PROFILE", "release")


class Programs:
    """Where the programs are."""

    def __init__(self, programs):
        self.switchboard = programs["switchboard"]
        self.echo_floor = programs["echo-floor"]
        self.bare_client = programs["bare-client"]
        self.bare_gateway = programs["bare-gateway"]
        self.wire = programs["wire"]
        self.session = programs["session"]


def build():
    say(f"build: the program, the testkit and its benchmarks, profile {PROFILE}")
    packages = ["--package", "switchboard-cli", "--package", "testkit", "--bins", "--benches"]
    command = ["cargo", "build", "--profile", PROFILE, *packages, "--locked", "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    programs = {}
    for line in done.stdout.decode().splitlines():
        message = json.loads(line)
        # A program is also built as a benchmark of itself, under the same name.
        is_program = message.get("reason") == "compiler-artifact" and message["executable"] and (
            message["target"]["kind"] == ["bench"] or not message["profile"]["test"]
        )
        if is_program:
            programs[message["target"]["name"]] = message["executable"]
    return Programs(programs)


def facts(programs):
    """What is measured, in words."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    size = os.path.getsize(programs.switchboard) / 1e6
    return {"commit": commit.stdout.strip(), "profile": PROFILE, "megabytes": round(size, 1)}
