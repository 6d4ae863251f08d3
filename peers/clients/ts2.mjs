// The TypeScript SDK, 2.x: asks which protocol there is, and takes the modern one.
import { ADA, finish, job, perform, require } from './job.mjs';

const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const { url, command, args } = job.connect;
const questions = [];
let tell;
const changed = new Promise(done => (tell = done));
const client = new Client(
    { name: 'ts2', version: '1' },
    {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: 'auto' },
        listChanged: { tools: { autoRefresh: false, onChanged: () => tell() } }
    }
);
client.setRequestHandler('elicitation/create', ({ params }) => (questions.push(params.message), ADA));
const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion?.() ?? client.protocolVersion;
await finish(client, await perform(client, version >= '2026' ? 'modern' : 'handshake', { questions, changed }));
