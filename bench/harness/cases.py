"""What is compared: parts, their cases, and in each case who takes part and how one run of each is done."""

import json
import os
import tempfile
from pathlib import Path

from . import gateways, peers, residents
from .measure import driver, peak, process

#: Figures: how they are called, and by what the raw value is divided. `cpu_us` is `cpu` of short things.
FIGURES = {
    "wall": ("wall ms", 1e3), "cpu": ("CPU ms", 1e3), "rss": ("peak MB", 1e3), "p50": ("p50 µs", 1), "p99": ("p99 µs", 1),
    "rate": ("calls/s", 1), "cpu_us": ("CPU µs", 1), "grown": ("kB a server", 1), "imported": ("import ms", 1e3),
    "tools": ("tools", 1), "answered": ("had answered", 1), "times": ("times the text", 1), "ready": ("ready ms", 1e3), "idle": ("idle MB", 1e3),
    "peak": ("peak MB", 1e3), "megabyte": ("1 MB, p50 ms", 1e3), "ten": ("10 MB, p50 ms", 1e3), "p50_16": ("16: p50 µs", 1), "p99_16": ("16: p99 µs", 1),
    "rate_16": ("16: calls/s", 1), "p50_64": ("64: p50 µs", 1), "p99_64": ("64: p99 µs", 1), "rate_64": ("64: calls/s", 1),
}


class Case:
    """One comparison. `who` is a list of name, kind (`floor`, `ours`, `peer`) and a function that does one run."""

    def __init__(self, part, name, title, figures, who, plot=None, rounds=1.0):
        self.part, self.id, self.title, self.figures, self.who = part, f"{part}/{name}", title, figures, who
        self.plot, self.rounds = plot or figures[0], rounds


class World:
    """What every run needs: programs, a home of its own, and how much is asked of each run."""

    def __init__(self, programs, scale):
        self.programs, self.scale = programs, scale
        self.folder = tempfile.TemporaryDirectory(prefix="bench-home-")
        self.home = self.folder.name
        server = {"mcpServers": {"s": {"command": programs.echo_floor, "args": []}}}
        for name, text in {
            ".switchboard/settings.json": json.dumps({"defaults": False}),
            ".switchboard/mcp.json": json.dumps(server),
            "mcp.json": json.dumps(server),
        }.items():
            path = Path(self.home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        path = f"{Path(peers.node()).parent}:{os.environ['PATH']}"
        # Ours make homes of their own.
        self.own_env = {**os.environ, "ECHO_FLOOR": programs.echo_floor}
        self.env = {"HOME": self.home, "PATH": path, "ECHO_FLOOR": programs.echo_floor, "LANG": "C.UTF-8"}

    def wire(self, *words, is_pinned=False):
        return lambda: driver([self.programs.wire, "--one", *map(str, words)], self.own_env, self.home, is_pinned)

    def session(self, *words):
        return lambda: driver([self.programs.session, "--one", *map(str, words)], self.own_env, self.home)

    def node(self, *words, is_pinned=False):
        command = [peers.node(), str(peers.NODE / "client.mjs"), *map(str, words)]
        return lambda: driver(command, self.env, self.home, is_pinned)

    def python(self, *words, is_pinned=False):
        script = peers.ROOT / "bench" / "drivers" / "client.py"
        command = [str(peers.PYTHON / "bin" / "python"), str(script), *map(str, words)]
        return lambda: driver(command, self.env, self.home, is_pinned)

    def omp(self, *words):
        command = [peers.bun(), str(peers.OMP / "omp.ts"), *map(str, words)]
        return lambda: driver(command, self.env, self.home)

    def command(self, command, mark=None, home=None):
        """A whole program, in a home of its own if it has one; its output must bear the mark."""
        home = home or self.home
        env = {**self.env, "HOME": home}
        return lambda: {**process(command, env, home, mark), "rss": peak(command, env, home)}


def cli(world):
    ours, bare, server = world.programs.switchboard, world.programs.bare_client, world.programs.echo_floor
    mcp2cli = [str(peers.CRATES / "bin" / "mcp2cli"), "--stdio", server]
    mcporter = [*peers.package("mcporter"), "--config", f"{world.home}/mcp.json"]
    inspector = [*peers.package("mcp-inspector"), "--cli"]
    fastmcp = str(peers.PYTHON / "bin" / "fastmcp")
    wong = peers.package("mcp-cli")
    version = [
        ("`true`", "floor", ["true"], None),
        ("switchboard", "ours", [ours, "--version"], "switchboard"),
        ("mcp2cli", "peer", [mcp2cli[0], "--version"], "mcp2cli"),
        ("mcporter", "peer", [*mcporter, "--version"], "0."),
        ("@wong2/mcp-cli", "peer", [*wong, "--version"], "2."),
        ("fastmcp", "peer", [fastmcp, "version"], "FastMCP"),
    ]
    tools = [
        ("bare client", "floor", [bare, "list", server], "tool_0"),
        ("switchboard", "ours", [ours, "tools", "s"], "tool_0"),
        ("mcp2cli", "peer", [*mcp2cli, "ls"], "tool"),
        ("mcporter", "peer", [*mcporter, "list", "s"], "tool_0"),
        ("inspector --cli", "peer", [*inspector, server, "--method", "tools/list"], "tool_0"),
        ("fastmcp", "peer", [fastmcp, "list", f"{world.home}/mcp.json"], "tool_0"),
    ]
    call_args = ["--method", "tools/call", "--tool-name", "tool_0", "--tool-arg", "owner=x"]
    wong_args = ["--config", f"{world.home}/mcp.json", "call-tool", "s:tool_0", "--args", '{"owner":"x"}']
    call = [
        ("bare client", "floor", [bare, "call", server], "hello"),
        ("switchboard", "ours", [ours, "call", "s/tool_0", "owner=x"], "hello"),
        ("mcp2cli", "peer", [*mcp2cli, "tool_0", "--owner", "x"], "hello"),
        ("mcporter", "peer", [*mcporter, "call", "s.tool_0", "owner=x"], "hello"),
        ("inspector --cli", "peer", [*inspector, server, *call_args], "hello"),
        ("@wong2/mcp-cli", "peer", [*wong, *wong_args], "hello"),
        ("fastmcp", "peer", [fastmcp, "call", f"{world.home}/mcp.json", "tool_0", "owner=x"], "hello"),
    ]
    figures = ["wall", "cpu", "rss"]
    who = lambda rows: [(name, kind, world.command(command, mark)) for name, kind, command, mark in rows]
    stays = lambda one: lambda: one.turn(lambda command, home: world.command(command, "hello", home)())
    resident = [
        ("`true`", "floor", world.command(["true"])),
        ("switchboard, a gateway", "ours", stays(residents.ours(world))),
        ("mcp2cli, its daemon", "peer", stays(residents.mcp2cli(world))),
        ("mcporter, its daemon", "peer", stays(residents.mcporter(world))),
    ]
    return [
        Case("cli", "version", "`--version`", figures, who(version), rounds=2),
        Case("cli", "list", "List the tools of one server", figures, who(tools), rounds=2),
        Case("cli", "call", "Call one tool of one server", figures, who(call), rounds=2),
        Case("cli", "resident", "Call one tool of a server that is kept running", figures, resident, rounds=2),
    ]


def start(world):
    cases = []
    for n in (1, 10, 50, 100):
        who = [
            ("bare, 8 threads", "floor", world.session("start", "bare, 8 threads", n, 1)),
            ("switchboard", "ours", world.session("start", "ours, guarded", n, 1)),
            ("switchboard, no guards", "ours", world.session("start", "ours", n, 1)),
            ("rmcp", "peer", world.session("start", "rmcp", n, 1)),
            ("rmcp, 2 threads", "peer", world.session("start", "rmcp, 2 threads", n, 1)),
            ("oh-my-pi", "peer", world.omp(n, 1, "plain")),
            ("TS SDK 1", "peer", world.node("sdk1", "start", n, 1)),
            ("TS SDK 2", "peer", world.node("sdk2", "start", n, 1)),
            ("Python SDK", "peer", world.python("mcp", "start", n, 1)),
            ("fastmcp", "peer", world.python("fastmcp", "start", n, 1)),
        ]
        title = f"{n} server{'s' if n > 1 else ''}: from the start until all tools are known"
        cases.append(Case("start", str(n), title, ["wall", "cpu", "imported"], who))
    slow = [
        ("bare, the nine others", "floor", world.session("gate", "bare")),
        ("switchboard", "ours", world.session("gate", "quick")),
        ("switchboard, nobody waits", "ours", world.session("gate", "correct")),
        ("oh-my-pi", "peer", world.omp(10, 1, "cached", 5000)),
    ]
    cases.append(Case("start", "hangs", "Ten known servers, one hangs for 5 s: until it can be used", ["wall", "tools"], slow))
    window = [("switchboard", "ours", world.session("window"))]
    title = "100 unknown servers, 34 of them slow, a window of 250 ms"
    cases.append(Case("start", "window", title, ["wall", "tools", "answered"], window, rounds=0.5))
    era = [
        ("switchboard, plain handshake", "ours", world.wire("era", "plain")),
        ("switchboard, first contact", "ours", world.wire("era", "first")),
        ("switchboard, second contact", "ours", world.wire("era", "second")),
        ("switchboard, second, no guard", "ours", world.wire("era", "unguarded")),
        ("rmcp, plain handshake", "peer", world.wire("era", "rmcp")),
    ]
    cases.append(Case("start", "silent", "A server that ignores the question of the protocol", ["wall"], era, rounds=2))
    return cases


def calls(world):
    cases = []
    sizes = {"one core": (1, 4000, 5000), "64": (64, 19200, 10000)}
    for transport, divisor in (("stdio", 1), ("http", 4)):
        for name, (in_flight, n, warm_up) in sizes.items():
            is_pinned = name == "one core"
            n_calls, n_warm = int(n * world.scale / divisor), int(warm_up * world.scale / divisor)
            few, few_warm = max(n_calls // 10, 192), max(n_warm // 10, 64)
            ask = lambda who: world.wire("calls", who, transport, in_flight, n_calls, n_warm, is_pinned=is_pinned)
            script = lambda who: world.node(who, "calls", transport, in_flight, n_calls, n_warm, is_pinned=is_pinned)
            slow = lambda who: world.python(who, "calls", transport, in_flight, few, few_warm, is_pinned=is_pinned)
            who = [
                ("bare", "floor", ask("bare")),
                ("switchboard", "ours", ask("ours")),
                ("switchboard, in a session", "ours", ask("ours, in a session")),
                ("rmcp", "peer", ask("rmcp")),
                ("rmcp, 2 threads", "peer", ask("rmcp, 2 threads")),
            ]
            if transport == "http":
                who.append(("rmcp with a pool", "peer", ask("rmcp with a pool")))
            who += [
                ("TS SDK 1", "peer", script("sdk1")),
                ("TS SDK 2", "peer", script("sdk2")),
                ("Python SDK", "peer", slow("mcp")),
                ("fastmcp", "peer", slow("fastmcp")),
            ]
            where = "stdio" if transport == "stdio" else "HTTP"
            title = f"{where}, {'1 in flight, one core' if is_pinned else '64 in flight'}"
            plot = "p50" if is_pinned else "rate"
            cases.append(Case("calls", f"{transport}-{in_flight}", title, ["p50", "p99", "rate", "cpu_us"], who, plot))
    return cases


def payloads(world):
    asks = [
        ("1k", "1 KB of text", "text", 1000, 200), ("100k", "100 KB of text", "text", 100_000, 60),
        ("1m", "1 MB of text", "text", 1_000_000, 20), ("10m", "10 MB of text", "text", 10_000_000, 5),
        ("200", "A list of 200 tools", "tools", 200, 20), ("1000", "A list of 1,000 tools", "tools", 1000, 10),
    ]
    cases = []
    for name, title, kind, n, times in asks:
        words = (kind, n, max(int(times * world.scale), 3))
        cases.append(Case("payloads", name, f"{title}, over stdio", ["wall"], everybody(world, "large", words)))
    cases.append(Case("payloads", "memory", "Memory for 10 MB of text", ["times"], everybody(world, "peak", ())))
    return cases


def everybody(world, part, words):
    return [
        ("bare", "floor", world.wire(part, "bare", *words)),
        ("switchboard", "ours", world.wire(part, "ours", *words)),
        ("rmcp", "peer", world.wire(part, "rmcp", *words)),
        ("TS SDK 1", "peer", world.node("sdk1", part, *words)),
        ("TS SDK 2", "peer", world.node("sdk2", part, *words)),
        ("Python SDK", "peer", world.python("mcp", part, *words)),
        ("fastmcp", "peer", world.python("fastmcp", part, *words)),
    ]


def cached(world):
    who = [
        ("reading and indexing one file", "floor", world.session("warm", "index")),
        ("switchboard", "ours", world.session("warm", "ours")),
        ("oh-my-pi", "peer", world.omp(100, 20, "cached")),
    ]
    return [Case("cached", "2000", "2,000 tools of 100 servers, known from last time", ["wall", "cpu"], who)]


def memory(world):
    cases = []
    for tools in (1, 20):
        who = [
            ("bare, 8 threads", "floor", world.session("start", "bare, 8 threads", 100, tools)),
            ("switchboard", "ours", world.session("start", "ours", 100, tools)),
            ("rmcp", "peer", world.session("start", "rmcp", 100, tools)),
            ("TS SDK 1", "peer", world.node("sdk1", "start", 100, tools)),
            ("TS SDK 2", "peer", world.node("sdk2", "start", 100, tools)),
            ("Python SDK", "peer", world.python("mcp", "start", 100, tools)),
        ]
        title = f"100 servers with {tools} tool{'s' if tools > 1 else ''} each"
        cases.append(Case("memory", str(tools), title, ["grown"], who, rounds=0.6))
    return cases


def gateway(world):
    everyone = gateways.table(world.programs)
    run = lambda one: lambda: gateways.calls(one, world.programs, world.scale)
    who = [(one.name, one.kind, run(one)) for one in everyone]
    figures = [
        "p50", "p99", "cpu_us", "p50_16", "p99_16", "rate_16", "p50_64", "p99_64", "rate_64", "megabyte", "idle", "peak", "ready",
    ]
    carry = lambda one: lambda: gateways.large(one, world.programs)
    carriers = [(one.name, one.kind, carry(one)) for one in everyone]
    return [
        Case("gateway", "calls", "One server behind, HTTP in front", figures, who, "cpu_us", rounds=0.6),
        Case("gateway", "large", "Results of 10 MB", ["ten", "peak"], carriers, "ten", rounds=0.6),
    ]


def lists(world):
    everyone = [one for one in gateways.table(world.programs) if not one.is_for_one]
    run = lambda one: lambda: gateways.lists(one, world.programs, world.scale)
    who = [(one.name, one.kind, run(one)) for one in everyone]
    figures = ["p50", "p99", "cpu_us", "idle", "ready"]
    return [Case("lists", "200", "Ten servers with 20 tools each: one list of all", figures, who, "p50", rounds=0.6)]


PARTS = {
    "cli": cli, "start": start, "calls": calls, "payloads": payloads, "cached": cached, "memory": memory,
    "gateway": gateway, "lists": lists,
}
