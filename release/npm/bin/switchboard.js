#!/usr/bin/env node
// Starts the program that npm installed for this machine, with its input, output, signals and exit code.
"use strict";
const { spawn } = require("node:child_process");

const target = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "switchboard.exe" : "switchboard";
let program;
try {
  program = require.resolve(`@switchboard-mcp/${target}/bin/${name}`);
} catch {
  console.error(`error: switchboard-mcp has no program for ${target}, or npm was told to leave out optional packages`);
  console.error("  hint: npm install --include=optional switchboard-mcp, or cargo install --git the repository");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends Ctrl-C to both; the program decides what it means.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
