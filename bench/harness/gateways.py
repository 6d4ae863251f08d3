"""Gateways as data: how each is started in front of some servers, and where it then listens. And one that runs."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from . import peers
from .measure import Failed, driver

#: Seconds until every tool must be there.
PATIENCE = 40
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Gateway:
    """`command` is made from the port, the configuration and the servers; `config` gives the files it reads, by name."""

    def __init__(self, name, kind, command, path="/mcp", config=None, is_for_one=False, is_slow=False):
        self.name, self.kind, self.command, self.path = name, kind, command, path
        self.config = config or (lambda home, servers: {})
        self.is_for_one = is_for_one
        self.is_slow = is_slow


def entries(servers, extra=None):
    return {name: {"command": argv[0], "args": argv[1:], **(extra or {})} for name, argv in servers.items()}


def mcp_json(home, servers):
    return {"mcp.json": json.dumps({"mcpServers": entries(servers)})}


def our_files(home, servers):
    settings = json.dumps({"defaults": False})
    return {".switchboard/settings.json": settings, ".switchboard/mcp.json": json.dumps({"mcpServers": entries(servers)})}


def proxy_toml(home, servers):
    """The Rust mcp-proxy wants its port in the file."""
    parts = ['[proxy]\nname = "bench"\nseparator = "_"\n[proxy.listen]\nhost = "127.0.0.1"\nport = PORT\n']
    for name, argv in servers.items():
        args = json.dumps(argv[1:])
        parts.append(f'[[backends]]\nname = "{name}"\ntransport = "stdio"\ncommand = "{argv[0]}"\nargs = {args}\n')
    return {"proxy.toml": "\n".join(parts)}


def first(servers):
    return next(iter(servers.values()))


def table(programs):
    """Everybody, those without a gateway first."""
    http_server = lambda port, home, servers: [first(servers)[0], "--http", *first(servers)[1:]]
    bare = lambda port, home, servers: [programs.bare_gateway, str(len(servers)), *first(servers)]
    ours = lambda port, home, servers: [programs.switchboard, "serve", "--http", f"127.0.0.1:{port}"]
    python = str(peers.PYTHON / "bin" / "fastmcp")
    listen = ["--host", "127.0.0.1", "--port"]
    return [
        Gateway("no gateway", "floor", http_server, is_for_one=True),
        Gateway("bare gateway", "floor", bare),
        Gateway("switchboard", "ours", ours, config=our_files),
        Gateway(
            "mcp-proxy (crate)",
            "peer",
            lambda port, home, servers: [str(peers.CRATES / "bin" / "mcp-proxy"), "--config", f"{home}/proxy.toml"],
            path="/",
            config=proxy_toml,
        ),
        Gateway(
            "supergateway",
            "peer",
            lambda port, home, servers: [
                *peers.package("supergateway"), "--stdio", " ".join(first(servers)), "--outputTransport",
                "streamableHttp", "--stateful", "--port", str(port), "--logLevel", "none",
            ],
            is_for_one=True,
        ),
        Gateway(
            "mcp-proxy (npm)",
            "peer",
            lambda port, home, servers: [
                *peers.package("mcp-proxy"), *listen, str(port), "--server", "stream", "--", *first(servers)
            ],
            is_for_one=True,
        ),
        Gateway(
            "mcp-proxy (PyPI)",
            "peer",
            lambda port, home, servers: [
                str(peers.PROXY / "bin" / "mcp-proxy"), "--log-level", "ERROR", *listen, str(port), "--", *first(servers)
            ],
            is_for_one=True,
            is_slow=True,
        ),
        Gateway(
            "mcporter serve",
            "peer",
            lambda port, home, servers: [
                *peers.package("mcporter"), "--config", f"{home}/mcp.json", "serve", "--http", str(port)
            ],
            config=lambda home, servers: {
                "mcp.json": json.dumps({"mcpServers": entries(servers, {"lifecycle": "keep-alive"})})
            },
            is_slow=True,
        ),
        Gateway(
            "fastmcp run",
            "peer",
            lambda port, home, servers: [
                python, "run", f"{home}/mcp.json", "--transport", "http", *listen, str(port), "--no-banner",
                "--log-level", "CRITICAL",
            ],
            config=mcp_json,
            is_slow=True,
        ),
    ]


class Running:
    """A gateway that listens and has shown every tool. Use it with `with`."""

    def __init__(self, gateway, n_servers, n_tools, echo_floor):
        self.gateway, self.n_tools = gateway, n_servers * n_tools
        # They differ in a file that is not there, or they would be the same server.
        argv = [echo_floor, "--tools", str(n_tools), "--wait"]
        self.servers = {f"s{n}": [*argv, f"/nowhere/{n}"] for n in range(n_servers)}

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bench-")
        home = self.folder.name
        port = free_port()
        for name, text in self.gateway.config(home, self.servers).items():
            path = Path(home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("PORT", str(port)))
        command = self.gateway.command(port, home, self.servers)
        env = {"HOME": home, "PATH": f"{Path(peers.node()).parent}:{os.environ['PATH']}"}
        started = time.perf_counter()
        self.child = subprocess.Popen(
            command, env=env, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.url = f"http://127.0.0.1:{port}{self.gateway.path}"
        if self.gateway.kind == "floor":
            self.url = self.child.stdout.readline().decode().strip()
        try:
            self.tool = self.wait()
        except BaseException:
            self.__exit__()
            raise
        self.ready = (time.perf_counter() - started) * 1e6
        time.sleep(0.5)
        self.idle = sum(memory(pid) for pid in self.pids())
        return self

    def wait(self):
        """Until all tools are there; gives the name of one."""
        deadline, why = time.monotonic() + PATIENCE, "not ready"
        while time.monotonic() < deadline and self.child.poll() is None:
            try:
                tools = list_tools(self.url)
                if len(tools) >= self.n_tools:
                    return next(tool for tool in tools if tool.endswith("tool_0"))
                why = f"{len(tools)} of {self.n_tools} tools"
            except (OSError, urllib.error.URLError, ValueError, KeyError) as error:
                why = str(error)
            time.sleep(0.02)
        raise Failed(f"{why} after {PATIENCE} s" if self.child.poll() is None else f"ended with {self.child.poll()}")

    def tree(self):
        """All processes of the gateway and the servers behind it, with their names."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                except OSError:
                    continue
                parents[int(entry.name)] = (int(rest.split()[1]), name)
        below, grown = {self.child.pid}, True
        while grown:
            more = {pid for pid, (parent, _) in parents.items() if parent in below} - below
            below |= more
            grown = bool(more)
        return {pid: parents.get(pid, (0, ""))[1] for pid in below}

    def pids(self):
        """The gateway's own processes: what it started, but not the servers behind it."""
        return [pid for pid, name in self.tree().items() if pid == self.child.pid or name != "echo-floor"]

    def cpu(self):
        """Microseconds it computed so far, with all its processes."""
        return sum(computed(pid) for pid in self.pids())

    def __exit__(self, *_):
        # Some leave processes behind that belong to nobody any more.
        everything = self.tree()
        self.child.stdin.close()
        try:
            self.child.wait(0.3)
        except subprocess.TimeoutExpired:
            self.child.terminate()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            pass
        for pid, name in everything.items():
            kill(pid, name)
        self.child.wait()
        self.folder.cleanup()


def kill(pid, name):
    """Kills a process unless it is another one by now."""
    try:
        if f"({name})" in Path(f"/proc/{pid}/stat").read_text():
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {**HEADERS, **headers})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.headers, answer.read().decode()


def list_tools(url):
    client = {"name": "bench", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    headers, _ = post(url, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, {})
    own = {"mcp-protocol-version": "2025-06-18"}
    if headers.get("mcp-session-id"):
        own["mcp-session-id"] = headers["mcp-session-id"]
    post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, own)
    _, text = post(url, {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}, own)
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    for line in lines or [text]:
        if '"tools"' in line:
            return [tool["name"] for tool in json.loads(line)["result"]["tools"]]
    return []


def memory(pid):
    """Kilobytes it holds. What several processes share is counted once, divided among them, where one is let look."""
    for file, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
        except OSError:
            continue
        return next((int(line.split()[1]) for line in lines if line.startswith(key)), 0)
    return 0


def computed(pid):
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") * 1e6


def calls(gateway, programs, scale):
    """One start of one gateway with one server: latency, throughput, memory."""
    load = lambda *words: driver([programs.wire, "--one", *map(str, words)], dict(os.environ), "/")
    warm_up, alone, many = (200, 200, 640) if gateway.is_slow else (int(6000 * scale), int(2000 * scale), int(12800 * scale))
    with Running(gateway, 1, 1, programs.echo_floor) as running:
        front = lambda in_flight, n, size=0: load("front", running.url, in_flight, n, running.tool, size)
        front(16, warm_up)
        before = running.cpu()
        one = front(1, alone)
        cpu = (running.cpu() - before) / alone
        sixteen, sixty_four = front(16, many), front(64, many)
        big = front(1, 10, 1_000_000)
        peak = sum(memory(pid) for pid in running.pids())
        return {
            "ready": running.ready, "idle": running.idle, "peak": peak, "cpu": cpu,
            "p50": one["p50"], "p99": one["p99"], "p50_16": sixteen["p50"], "p99_16": sixteen["p99"],
            "rate_16": sixteen["rate"], "p50_64": sixty_four["p50"], "p99_64": sixty_four["p99"],
            "rate_64": sixty_four["rate"], "megabyte": big["p50"],
        }


def large(gateway, programs):
    """One start of one gateway with one server: results of 10 MB."""
    with Running(gateway, 1, 1, programs.echo_floor) as running:
        ten = driver([programs.wire, "--one", "front", running.url, "1", "5", running.tool, "10000000"], dict(os.environ), "/")
        return {"ten": ten["p50"], "peak": sum(memory(pid) for pid in running.pids())}


def lists(gateway, programs, scale):
    """One start of one gateway with ten servers of twenty tools: what a list of all costs."""
    n = 5 if gateway.is_slow else int(200 * scale)
    with Running(gateway, 10, 20, programs.echo_floor) as running:
        load = lambda n: driver([programs.wire, "--one", "lists", running.url, str(n), "200"], dict(os.environ), "/")
        load(max(n // 4, 2))
        before = running.cpu()
        listed = load(n)
        return {
            "p50": listed["p50"], "p99": listed["p99"], "cpu": (running.cpu() - before) / n,
            "idle": running.idle, "ready": running.ready,
        }
