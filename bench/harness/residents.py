"""Those who keep a server between two commands: started before their first turn, and gone with the benchmark."""

import atexit
import json
import subprocess
from pathlib import Path

from . import peers
from .measure import Failed

#: Seconds to start in.
PATIENCE = 30


class Resident:
    """`start` gives the command of one turn, the home it runs in, and what ends it all."""

    def __init__(self, start):
        self.start, self.ask = start, None

    def turn(self, run):
        """One run of the short command; whatever stays is started first."""
        if self.ask is None:
            *self.ask, stop = self.start()
            atexit.register(stop)
        return run(*self.ask)


def ours(world):
    """A gateway that runs, and a home in which it is a server like any other."""

    def start():
        gateway = subprocess.Popen(
            [world.programs.switchboard, "serve", "--only", "s", "--raw-names", "--http", "127.0.0.1:0"],
            env=world.env, cwd=world.home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        line = next((line for line in gateway.stderr if "listening on" in line), None)
        if line is None:
            raise Failed("the gateway did not start")
        home = Path(world.home, "beside")
        (home / ".switchboard").mkdir(parents=True)
        (home / ".switchboard" / "settings.json").write_text(json.dumps({"defaults": False}))
        servers = {"s": {"url": line.split()[-1]}}
        (home / ".switchboard" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        return [world.programs.switchboard, "call", "s/tool_0", "owner=x"], str(home), gateway.terminate

    return Resident(start)


def mcp2cli(world):
    program = str(peers.CRATES / "bin" / "mcp2cli")

    def start():
        server = ["--transport", "stdio", "--stdio-command", world.programs.echo_floor]
        say(world, [program, "config", "init", "--name", "s", *server])
        say(world, [program, "daemon", "start", "s"])
        return [program, "s", "tool_0", "--owner", "x"], world.home, lambda: say(world, [program, "daemon", "stop", "s"])

    return Resident(start)


def mcporter(world):
    config = Path(world.home, "resident.json")
    program = [*peers.package("mcporter"), "--config", str(config)]

    def start():
        server = {"command": world.programs.echo_floor, "args": [], "lifecycle": "keep-alive"}
        config.write_text(json.dumps({"mcpServers": {"s": server}}))
        say(world, [*program, "daemon", "start"])
        return [*program, "call", "s.tool_0", "owner=x"], world.home, lambda: say(world, [*program, "daemon", "stop"])

    return Resident(start)


def say(world, command):
    """A command whose words nobody needs. It may leave a process behind, which must not hold our streams."""
    quiet = subprocess.DEVNULL
    subprocess.run(command, env=world.env, cwd=world.home, stdin=quiet, stdout=quiet, stderr=quiet, timeout=PATIENCE, check=True)
