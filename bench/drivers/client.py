"""One run of a Python client: `client.py mcp|fastmcp PART ...` prints one line of JSON, times in microseconds.

    calls stdio|http IN_FLIGHT CALLS WARM_UP     start SERVERS TOOLS     large tools|text N TIMES     peak

The server is the program in ECHO_FLOOR.
"""

import asyncio
import contextlib
import json
import logging
import os
import subprocess
import sys
import time

logging.disable(logging.CRITICAL)
WHO, PART, *WORDS = sys.argv[1:]
SERVER = os.environ["ECHO_FLOOR"]
began = time.perf_counter()
if WHO == "mcp":
    from mcp import Client, StdioServerParameters
else:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
imported = time.perf_counter() - began


def stdio(*args):
    if WHO == "mcp":
        return Client(StdioServerParameters(command=SERVER, args=list(args)), cache=None)
    return Client(StdioTransport(command=SERVER, args=list(args), keep_alive=False))


@contextlib.asynccontextmanager
async def http():
    child = subprocess.Popen([SERVER, "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    async with Client(child.stdout.readline().strip()) as client:
        yield client
    child.stdin.close()
    child.wait()


async def tools(client):
    listed = await client.list_tools()
    return listed if isinstance(listed, list) else listed.tools


async def text(client, size):
    answer = await client.call_tool("text", {"bytes": size})
    return len(answer.content[0].text)


def memory(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))


async def load(client, in_flight, calls):
    times = []

    async def worker():
        for _ in range(calls // in_flight):
            since = time.perf_counter()
            await client.call_tool("echo", {})
            times.append(time.perf_counter() - since)

    cpu, started = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
    times.sort()
    at = lambda percent: times[(len(times) - 1) * percent // 100] * 1e6
    return {"p50": at(50), "p99": at(99), "rate": len(times) / elapsed, "cpu": cpu / len(times) * 1e6}


async def calls(transport, in_flight, n, warm_up):
    async with http() if transport == "http" else stdio() as client:
        await load(client, int(in_flight), int(warm_up))
        return await load(client, int(in_flight), int(n))


async def start(servers, n_tools):
    """Each server's client lives in a task of its own, which is what its context manager wants."""
    over = asyncio.Event()

    async def one(ready):
        async with stdio("--tools", n_tools) as client:
            assert len(await tools(client)) == int(n_tools)
            ready.set_result(None)
            await over.wait()

    before, cpu, started = memory("VmRSS"), time.process_time(), time.perf_counter()
    ready = [asyncio.get_running_loop().create_future() for _ in range(int(servers))]
    tasks = [asyncio.create_task(one(future)) for future in ready]
    await asyncio.gather(*ready)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    grown = (memory("VmRSS") - before) / int(servers)
    over.set()
    await asyncio.gather(*tasks)
    return {"wall": wall * 1e6, "cpu": cpu * 1e6, "grown": grown, "imported": imported * 1e6}


async def large(kind, n, repeat):
    times = []
    async with stdio("--tools", n) if kind == "tools" else stdio() as client:
        for _ in range(int(repeat)):
            since = time.perf_counter()
            got = len(await tools(client)) if kind == "tools" else await text(client, int(n))
            times.append(time.perf_counter() - since)
            assert got >= int(n) * 0.9
    return {"wall": sorted(times)[len(times) // 2] * 1e6}


async def peak():
    async with stdio() as client:
        await client.call_tool("echo", {})
        before = memory("VmRSS")
        await text(client, 10_000_000)
        return {"times": (memory("VmHWM") - before) / (10_000_000 / 1024)}


print(json.dumps(asyncio.run(globals()[PART](*WORDS))))
