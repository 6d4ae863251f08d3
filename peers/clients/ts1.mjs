// The TypeScript SDK, 1.x: handshake only.
import { ADA, finish, job, perform, require } from './job.mjs';

const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ElicitRequestSchema, ToolListChangedNotificationSchema } = require('@modelcontextprotocol/sdk/types.js');

const { url, command, args } = job.connect;
const client = new Client({ name: 'ts1', version: '1' }, { capabilities: { elicitation: {} } });
const questions = [];
client.setRequestHandler(ElicitRequestSchema, ({ params }) => (questions.push(params.message), ADA));
const changed = new Promise(done => client.setNotificationHandler(ToolListChangedNotificationSchema, () => done()));
const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
await client.connect(transport);
await finish(client, await perform(client, 'handshake', { questions, changed }));
