// What the peers in JavaScript that want a login share: packages of the installation, counting, and a protected MCP
// server whose tokens somebody else hands out.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { join } from 'node:path';

/// Packages are installed elsewhere; SWITCHBOARD_PEERS says where, if not below target.
export const require = createRequire(
    join(process.env.SWITCHBOARD_PEERS ?? join(import.meta.dirname, '../target/peers'), 'index.js')
);
const express = require('express');
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { z } = require('zod');

/// Standard output has one line of ours. Libraries have their say on standard error.
console.log = console.info = console.error;

/// What happened so far. `GET /__counts` of the MCP server tells.
export const counts = {
    registrations: 0, // clients that registered themselves
    logins: 0, // codes handed to a browser
    exchanges: 0, // codes turned into tokens
    refreshes: 0,
    refused: 0, // refreshes with a token that is not good any more
    families: 0, // logins ended because an old refresh token came back
    revocations: 0,
    calls: 0, // tool calls that were let in
    unauthorized: 0,
    forbidden: 0
};

/// How many answers of the token endpoint are to be 503. `POST /__fail/N` of the MCP server says so.
export const trouble = { left: 0 };

/// What clients showed to the token endpoint: codes, verifiers, secrets, tokens. `GET /__seen` of the MCP server tells.
export const seen = new Set();

/// A whole number from the environment.
export const number = (name, usual) => Number(process.env[name] ?? usual);

/// Listens on a free port of this machine.
export async function listen(handler) {
    const server = createServer(handler);
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${server.address().port}`;
}

/// Says where everything is, and ends when nobody holds our standard input any more.
export function ready(facts) {
    process.stdout.write(JSON.stringify(facts) + '\n');
    process.stdin.on('end', () => process.exit()).on('error', () => process.exit());
    process.stdin.resume();
}

/// An MCP server below `origin` that lets in who has a token. `verify` tells whose it is, and for what:
/// `{ subject, client, scopes, resource }`, or nothing. `echo` needs the scope `mcp:read`, `write` also `mcp:write`.
///
/// `POST /__expire` ends every access token that was used so far. CHALLENGE=bare leaves `resource_metadata` and `scope`
/// out of the refusal. RESOURCE is published in place of the address, for a document of somebody else.
export function protect({ origin, issuer, verify }) {
    const resource = process.env.RESOURCE ?? `${origin}/mcp`;
    const path = '/.well-known/oauth-protected-resource/mcp';
    const challenge = (error, scope) =>
        process.env.CHALLENGE === 'bare'
            ? 'Bearer'
            : `Bearer ${error ? `error="${error}", ` : ''}scope="${scope}", resource_metadata="${origin}${path}"`;
    const used = new Set();
    const expired = new Set();
    const app = express();
    app.get('/__counts', (_, response) => response.json(counts));
    app.get('/__seen', (_, response) => response.json([...seen]));
    app.post('/__expire', (_, response) => response.json(used.forEach(token => expired.add(token)) ?? {}));
    app.post('/__fail/:times', (request, response) => response.json((trouble.left = Number(request.params.times))));
    app.get(path, (_, response) =>
        response.json({ resource, authorization_servers: [issuer], scopes_supported: ['mcp:read'] })
    );
    app.all('/mcp', express.json(), async (request, response) => {
        const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
        const who = token && !expired.has(token) && (await verify(token));
        if (who) used.add(token);
        if (!who || who.resource !== resource) {
            counts.unauthorized += 1;
            response.set('WWW-Authenticate', challenge(token && 'invalid_token', 'mcp:read'));
            return response.status(401).json({ error: 'invalid_token' });
        }
        const isWrite = request.body?.method === 'tools/call' && request.body.params?.name === 'write';
        const missing = [isWrite ? 'mcp:write' : 'mcp:read'].filter(scope => !who.scopes.includes(scope));
        if (missing.length) {
            counts.forbidden += 1;
            response.set('WWW-Authenticate', challenge('insufficient_scope', missing.join(' ')));
            return response.status(403).json({ error: 'insufficient_scope' });
        }
        if (request.method !== 'POST') return response.status(405).set('Allow', 'POST').end();
        counts.calls += request.body?.method === 'tools/call' ? 1 : 0;
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
        await tools(who).connect(transport);
        await transport.handleRequest(request, response, request.body);
    });
    return app;
}

function tools(who) {
    const server = new McpServer({ name: 'protected-peer', version: '1.0.0' });
    const told = text => ({ content: [{ type: 'text', text: JSON.stringify({ ...who, text }) }] });
    const inputSchema = { text: z.string().default('') };
    server.registerTool('echo', { inputSchema, annotations: { readOnlyHint: true } }, ({ text }) => told(text));
    server.registerTool('write', { inputSchema }, ({ text }) => told(text));
    return server;
}
