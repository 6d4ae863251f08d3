// One run of a TypeScript SDK as a client: `client.mjs sdk1|sdk2 PART ...` prints one line of JSON, times in microseconds.
//
//   calls stdio|http IN_FLIGHT CALLS WARM_UP     start SERVERS TOOLS     large tools|text N TIMES     peak
//
// The server is the program in ECHO_FLOOR. It is copied to where the packages are installed, and run there.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const began = performance.now();
const [which, part, ...words] = process.argv.slice(2);
const server = process.env.ECHO_FLOOR;
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = which === "sdk1" ? await sdk1() : await sdk2();
const imported = performance.now() - began;

async function sdk1() {
  return {
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
  };
}

async function sdk2() {
  return { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) };
}

async function open(transport) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  return client;
}

const stdio = (...args) => open(new StdioClientTransport({ command: server, args, stderr: "ignore" }));

async function http() {
  const child = spawn(server, ["--http"], { stdio: ["pipe", "pipe", "ignore"] });
  const url = await new Promise((done) => createInterface({ input: child.stdout }).once("line", done));
  const client = await open(new StreamableHTTPClientTransport(new URL(url)));
  return { client, end: () => child.stdin.end() };
}

const micros = (milliseconds) => milliseconds * 1000;
const memory = (key) => Number(readFileSync("/proc/self/status", "utf8").match(new RegExp(`${key}:\\s+(\\d+)`))[1]);
const say = (figures) => process.stdout.write(`${JSON.stringify(figures)}\n`);

async function load(client, inFlight, calls) {
  const times = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  const worker = async () => {
    for (let n = 0; n < Math.floor(calls / inFlight); n += 1) {
      const since = performance.now();
      await client.callTool({ name: "echo", arguments: {} });
      times.push(performance.now() - since);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const elapsed = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  times.sort((one, other) => one - other);
  const at = (percent) => micros(times[Math.floor(((times.length - 1) * percent) / 100)]);
  return { p50: at(50), p99: at(99), rate: (times.length / elapsed) * 1000, cpu: (user + system) / times.length };
}

const parts = {
  async calls(transport, ...numbers) {
    const [inFlight, calls, warmUp] = numbers.map(Number);
    const { client, end } = transport === "http" ? await http() : { client: await stdio(), end: () => {} };
    await load(client, inFlight, warmUp);
    const figures = await load(client, inFlight, calls);
    await client.close();
    end();
    return figures;
  },

  async start(servers, tools) {
    const before = memory("VmRSS");
    const cpu = process.cpuUsage();
    const started = performance.now();
    const one = async () => {
      const client = await stdio("--tools", tools);
      if ((await client.listTools()).tools.length !== Number(tools)) throw new Error("not all tools");
      return client;
    };
    const clients = await Promise.all(Array.from({ length: Number(servers) }, one));
    const wall = micros(performance.now() - started);
    const { user, system } = process.cpuUsage(cpu);
    const grown = (memory("VmRSS") - before) / clients.length;
    await Promise.all(clients.map((client) => client.close()));
    return { wall, cpu: user + system, grown, imported: micros(imported) };
  },

  async large(kind, n, repeat) {
    const client = kind === "tools" ? await stdio("--tools", n) : await stdio();
    const times = [];
    for (let turn = 0; turn < Number(repeat); turn += 1) {
      const since = performance.now();
      const answer =
        kind === "tools"
          ? (await client.listTools()).tools.length
          : (await client.callTool({ name: "text", arguments: { bytes: Number(n) } })).content[0].text.length;
      times.push(performance.now() - since);
      if (answer < Number(n) * 0.9) throw new Error("not all came");
    }
    await client.close();
    times.sort((one, other) => one - other);
    return { wall: micros(times[Math.floor(times.length / 2)]) };
  },

  async peak() {
    const client = await stdio();
    await client.callTool({ name: "echo", arguments: {} });
    const before = memory("VmRSS");
    await client.callTool({ name: "text", arguments: { bytes: 10_000_000 } });
    const times = (memory("VmHWM") - before) / (10_000_000 / 1024);
    await client.close();
    return { times };
  },
};

say(await parts[part](...words));
process.exit(0);
