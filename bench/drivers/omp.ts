// One start of oh-my-pi's manager of servers: `omp.ts SERVERS TOOLS cached|plain [SLOW_MS]` prints one line of JSON, times
// in microseconds. `cached` starts once before, so that every tool is known; with SLOW_MS one server then answers so late.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MCPManager } from "@oh-my-pi/pi-coding-agent/mcp/manager";
import { MCPToolCache } from "@oh-my-pi/pi-coding-agent/mcp/tool-cache";
import { AgentStorage } from "@oh-my-pi/pi-coding-agent/session/agent-storage";

const [servers, tools, mode, slow] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "omp-"));
const names = Array.from({ length: Number(servers) }, (_, n) => `s${n}`);
const config = (name: string) => ({
  type: "stdio" as const,
  command: process.env.ECHO_FLOOR as string,
  args: ["--tools", tools, "--wait", join(home, name)],
});
const configs = Object.fromEntries(names.map((name) => [name, config(name)]));
const sources = Object.fromEntries(names.map((name) => [name, { provider: "bench", path: home } as never]));
const cache = mode === "cached" ? new MCPToolCache(await AgentStorage.open(join(home, "agent.db"))) : null;

async function start() {
  const manager = new MCPManager(home, cache);
  const cpu = process.cpuUsage();
  const since = performance.now();
  const loaded = await manager.connectServers(configs, sources);
  const wall = (performance.now() - since) * 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { manager, figures: { wall, cpu: user + system, tools: loaded.tools.length } };
}

if (cache) {
  const { manager } = await start();
  await Bun.sleep(1500);
  await manager.disconnectAll();
}
if (slow) writeFileSync(join(home, "s4"), slow);
const { manager, figures } = await start();
console.log(JSON.stringify(figures));
rmSync(home, { recursive: true, force: true });
process.exit(0);
