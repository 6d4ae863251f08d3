// The command line of the MCP Inspector: a process and a connection for each thing it does. It cannot be asked anything, and
// does not wait for changes.
import { spawn } from 'node:child_process';
import { job, require } from './job.mjs';
import { dirname, join } from 'node:path';

const INSPECTOR = join(
    dirname(require.resolve('@modelcontextprotocol/inspector/package.json')),
    'clients/launcher/build/index.js'
);
const { url, command, args } = job.connect;
const target = url ? ['--transport', 'http', '--server-url', url] : [];
const after = url ? [] : ['--', command, ...args];

function run(method, ...flags) {
    return new Promise((done, fail) => {
        const child = spawn(
            process.execPath,
            [INSPECTOR, '--cli', ...target, '--format', 'json', '--method', method, ...flags, ...after],
            {
                stdio: ['ignore', 'pipe', 'pipe']
            }
        );
        let [out, err] = ['', ''];
        child.stdout.on('data', data => (out += data));
        child.stderr.on('data', data => (err += data));
        child.on('close', code => {
            if (code === 0) done(JSON.parse(out).result ?? JSON.parse(out));
            else if (/-32601|does not support|Method not found/.test(out + err)) done({});
            else fail(new Error(`${method} ${flags}: ${code} ${out} ${err}`));
        });
    });
}

const names = (result, field, name) => (result[field] ?? []).map(item => item[name]);
const pairs = values => Object.entries(values).map(([name, value]) => `${name}=${value}`);
const seen = {
    protocol: null,
    tools: names(await run('tools/list'), 'tools', 'name'),
    resources: names(await run('resources/list'), 'resources', 'uri'),
    prompts: names(await run('prompts/list'), 'prompts', 'name'),
    calls: [],
    reads: [],
    gets: [],
    asked: null,
    changed: null
};
for (const [name, values] of job.calls) {
    const flags = Object.keys(values).length ? ['--tool-arg', ...pairs(values)] : [];
    seen.calls.push((await run('tools/call', '--tool-name', name, ...flags)).content);
}
for (const uri of job.reads) seen.reads.push((await run('resources/read', '--uri', uri)).contents);
for (const [name, values] of job.gets) {
    const flags = Object.keys(values).length ? ['--prompt-args', ...pairs(values)] : [];
    seen.gets.push((await run('prompts/get', '--prompt-name', name, ...flags)).messages);
}
process.stdout.write(`${JSON.stringify(seen)}\n`);
