// Starts each peer that wants a login and goes all the way with it, as a client would: refused, discovery, registration,
// login, call, more scopes, refresh, an old refresh token, revocation. Ends with 0 if each did what it should, with 1
// otherwise. VERBOSE=1 shows what the peers say.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const installation = process.env.SWITCHBOARD_PEERS ?? join(import.meta.dirname, '../target/peers');
const CALLBACK = 'http://127.0.0.1:1/callback';

/// Starts a peer and waits for its one line.
async function start(program, script, env = {}) {
    const options = { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', process.env.VERBOSE ? 'inherit' : 'ignore'] };
    const child = spawn(program, [join(import.meta.dirname, script)], options);
    for await (const line of createInterface({ input: child.stdout })) return { child, ...JSON.parse(line) };
    throw new Error(`${script} did not start`);
}

const json = async (url, init) => {
    const response = await fetch(url, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text };
};
const form = (url, fields, headers = {}) =>
    json(url, { method: 'POST', headers, body: new URLSearchParams(fields) });

/// One message to the MCP server.
async function say(peer, token, method, params) {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    if (token) headers.authorization = `Bearer ${token}`;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await json(peer.mcp, { method: 'POST', headers, body });
    const event = typeof answer.body === 'string' && /^data: (.*)$/m.exec(answer.body);
    return { ...answer, body: event ? JSON.parse(event[1]) : answer.body };
}
const call = (peer, token, name) => say(peer, token, 'tools/call', { name, arguments: { text: 'hi' } });

/// From the refusal to the documents.
async function discover(peer) {
    const clientInfo = { name: 'check', version: '1' };
    const refused = await say(peer, undefined, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    assert.equal(refused.status, 401);
    const pointer = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate'))[1];
    const resource = (await json(pointer)).body;
    const issuer = resource.authorization_servers[0];
    const server = (await json(new URL('/.well-known/oauth-authorization-server', issuer))).body;
    assert.equal(server.issuer, issuer);
    return { resource: resource.resource, server };
}

async function register({ server }, method) {
    const registered = await json(server.registration_endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
            client_name: 'check',
            application_type: 'native',
            redirect_uris: [CALLBACK],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            token_endpoint_auth_method: method
        })
    });
    assert.equal(registered.status, 201, JSON.stringify(registered.body));
    return registered.body;
}

/// Who we are, in the body or in a header as the registration says.
function proof({ client_id, client_secret, token_endpoint_auth_method: method }) {
    const basic = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` };
    if (method === 'client_secret_basic') return [{ client_id }, basic];
    return [{ client_id, ...(client_secret && { client_secret }) }, {}];
}

/// Follows the redirects as a browser without cookies would, until one leads to us.
async function authorize({ resource, server }, client, scope, more = {}) {
    const verifier = randomBytes(32).toString('base64url');
    let url = new URL(server.authorization_endpoint);
    const query = {
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: CALLBACK,
        state: 'a-state',
        scope,
        resource,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        ...more
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    for (let hops = 0; !url.href.startsWith(CALLBACK); hops++) {
        assert(hops < 10, 'no end of redirects');
        const response = await fetch(url, { redirect: 'manual' });
        const location = response.headers.get('location');
        assert(location, `${response.status} ${await response.text()}`);
        url = new URL(location, url);
    }
    assert.equal(url.searchParams.get('state'), 'a-state', url.href);
    if (server.authorization_response_iss_parameter_supported) assert.equal(url.searchParams.get('iss'), server.issuer);
    return { verifier, back: url.searchParams };
}

async function login(place, client, scope, more) {
    const { resource, server } = place;
    const { verifier, back } = await authorize(place, client, scope, more);
    const [fields, headers] = proof(client);
    const code = back.get('code');
    assert(code, back.toString());
    const asked = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: verifier, resource };
    const got = await form(server.token_endpoint, { ...fields, ...asked }, headers);
    assert.equal(got.status, 200, JSON.stringify(got.body));
    return got.body;
}

function refresh({ resource, server }, client, token) {
    const [fields, headers] = proof(client);
    return form(server.token_endpoint, { ...fields, grant_type: 'refresh_token', refresh_token: token, resource }, headers);
}

/// Everything, once.
async function whole(peer, method, { subject, hides }) {
    const place = await discover(peer);
    const client = await register(place, method);
    assert.equal(Boolean(client.client_secret), method !== 'none');
    const first = await login(place, client, 'mcp:read');
    const told = await call(peer, first.access_token, 'echo');
    assert.equal(told.status, 200, JSON.stringify(told.body));
    const who = JSON.parse(told.body.result.content[0].text);
    assert.deepEqual([who.subject, who.scopes], [subject ?? client.client_id, ['mcp:read']]);

    const more = await call(peer, first.access_token, 'write');
    if (hides) assert(more.body.result.isError);
    else assert.match(`${more.status} ${more.headers.get('www-authenticate')}`, /^403 .*insufficient_scope.*mcp:write/);
    const second = await login(place, client, 'mcp:read mcp:write');
    assert.equal((await call(peer, second.access_token, 'write')).status, 200);

    const third = await refresh(place, client, second.refresh_token);
    assert.equal(third.status, 200, JSON.stringify(third.body));
    assert.notEqual(third.body.refresh_token, second.refresh_token, 'refresh tokens rotate');
    assert.equal((await call(peer, third.body.access_token, 'echo')).status, 200);
    const again = await refresh(place, client, second.refresh_token);
    assert.equal(again.body.error, 'invalid_grant', 'an old refresh token is refused');

    const { registrations, logins, exchanges, refreshes, refused } = (await json(peer.counts)).body;
    assert.deepEqual([registrations, logins, exchanges, refreshes, refused], [1, 2, 2, 1, 1]);
    assert.equal((await call(peer, 'nonsense', 'echo')).status, 401);
    return { place, client };
}

async function revoked(peer, { place, client }) {
    const got = await login(place, client, 'mcp:read');
    const [fields, headers] = proof(client);
    await form(place.server.revocation_endpoint, { ...fields, token: got.refresh_token }, headers);
    assert.equal((await refresh(place, client, got.refresh_token)).body.error, 'invalid_grant');
    assert.equal((await json(peer.counts)).body.revocations, 1);
}

/// Starts, checks, and sees it end with its standard input.
async function peer(name, [program, script, env], check) {
    const started = await start(program, script, env);
    const gone = new Promise(done => started.child.once('exit', done));
    try {
        await check(started);
        started.child.stdin.end();
        await gone;
        console.log(`${name}: fine`);
    } finally {
        started.child.kill();
    }
}

const node = process.execPath;
const python = join(installation, 'python/bin/python');

await peer('oidc-provider', [node, 'oidc.mjs'], async peer => {
    const known = await whole(peer, 'none', { subject: 'ada' });
    await revoked(peer, known);
    assert.equal((await json(peer.counts)).body.families, 1);

    const { place, client } = known;
    const got = await login(place, client, 'mcp:read');
    assert.equal((await call(peer, got.access_token, 'echo')).status, 200);
    await json(new URL('/__expire', peer.mcp), { method: 'POST' });
    assert.equal((await call(peer, got.access_token, 'echo')).status, 401);
    await json(new URL('/__fail/1', peer.mcp), { method: 'POST' });
    assert.equal((await refresh(place, client, got.refresh_token)).status, 503);
    const renewed = await refresh(place, client, got.refresh_token);
    assert.equal((await call(peer, renewed.body.access_token, 'echo')).status, 200);
});
await peer('oidc-provider with secrets', [node, 'oidc.mjs', { METHODS: 'client_secret_basic' }], async peer => {
    const { place } = await whole(peer, 'client_secret_basic', { subject: 'ada' });
    const { id: client_id, secret: client_secret } = peer.client;
    const known = { client_id, client_secret, token_endpoint_auth_method: 'client_secret_basic' };
    const got = await login(place, known, 'mcp:read');
    assert.equal((await call(peer, got.access_token, 'echo')).status, 200);
    const [fields, headers] = proof(known);
    const asked = { ...fields, grant_type: 'client_credentials', scope: 'mcp:read', resource: place.resource };
    const machine = await form(place.server.token_endpoint, asked, headers);
    assert.equal((await call(peer, machine.body.access_token, 'echo')).status, 200);
});
await peer('oidc-provider, short lives', [node, 'oidc.mjs', { ACCESS_SECONDS: '1', OFFLINE: '1' }], async peer => {
    const place = await discover(peer);
    const client = await register(place, 'none');
    const got = await login(place, client, 'mcp:read offline_access');
    assert.deepEqual([got.expires_in, got.refresh_token], [1, undefined]);
    assert((await login(place, client, 'mcp:read offline_access', { prompt: 'consent' })).refresh_token);
    while ((await call(peer, got.access_token, 'echo')).status !== 401);
});
const document = join(tmpdir(), `client-${process.pid}.json`);
const client_id = 'https://client.example/client.json';
const redirect_uris = ['http://127.0.0.1/callback'];
const own = { client_id, client_name: 'check', application_type: 'native', token_endpoint_auth_method: 'none' };
writeFileSync(document, JSON.stringify({ ...own, redirect_uris, grant_types: ['authorization_code', 'refresh_token'] }));
const byDocument = { CLIENT_DOCUMENT: document, REGISTRATION: '0' };
await peer('oidc-provider with documents', [node, 'oidc.mjs', byDocument], async peer => {
    const place = await discover(peer);
    assert.equal(place.server.registration_endpoint, undefined);
    assert.equal(place.server.client_id_metadata_document_supported, true);
    const got = await login(place, { client_id }, 'mcp:read');
    assert.equal((await call(peer, got.access_token, 'echo')).status, 200);
    assert.equal((await refresh(place, { client_id }, got.refresh_token)).status, 200);
});
rmSync(document);
await peer('oidc-provider, a person who says no', [node, 'oidc.mjs', { DENY: '1' }], async peer => {
    const place = await discover(peer);
    const { back } = await authorize(place, await register(place, 'none'), 'mcp:read');
    assert.equal(back.get('error'), 'access_denied');
});
await peer('TypeScript SDK', [node, 'ts_demo_auth.mjs'], async peer => {
    await revoked(peer, await whole(peer, 'client_secret_post', { subject: 'demo' }));
});
await peer('FastMCP', [python, 'fastmcp_oauth.py'], async peer => {
    await revoked(peer, await whole(peer, 'client_secret_post', { hides: true }));
});
await peer('FastMCP, short lives', [python, 'fastmcp_oauth.py', { ACCESS_SECONDS: '1' }], async peer => {
    const place = await discover(peer);
    const got = await login(place, await register(place, 'client_secret_basic'), 'mcp:read');
    while ((await call(peer, got.access_token, 'echo')).status !== 401);
});
