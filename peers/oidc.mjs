// A certified authorization server, `oidc-provider`, and an MCP server that takes its tokens, on two free ports.
//
//     oidc.mjs    prints {"mcp", "issuer", "counts", "client"} when ready, and ends with its standard input
//
// The person is logged in already and agrees to everything, so whoever follows the redirects from the authorization
// address gets through, without cookies. Refresh tokens are good for one use; one that comes back ends the login.
//
//     ACCESS_SECONDS=3600    life of an access token
//     REFRESH_SECONDS=86400  life of a refresh token
//     OFFLINE=1              refresh tokens only for `offline_access`, which this server grants only with
//                            `prompt=consent`; otherwise every login gets one
//     TOKEN_DELAY_MS=0       how long the token endpoint holds back an answer it has decided on
//     DENY=1                 the person says no
//     REGISTRATION=0         clients cannot register themselves
//     CLIENT_DOCUMENT=FILE   client id metadata documents are taken; FILE is the one at its own `client_id`
//     METHODS=none,...       how clients prove who they are at the token endpoint
//     MACHINE_KEYS=JSON      a client `machine` proves itself with one of these keys, and is let in as itself
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { counts, listen, number, protect, ready, require, seen, trouble } from './peer.mjs';

const { default: Provider, interactionPolicy, errors } = require('oidc-provider');

/// Known without registering. Any port of this machine is fine.
const client = {
    client_id: 'preregistered',
    client_secret: 'preregistered-secret-0123456789',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic'
};
const machine = process.env.MACHINE_KEYS && {
    client_id: 'machine',
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: JSON.parse(process.env.MACHINE_KEYS)
};
const nothingToAsk = interactionPolicy.base();
for (const prompt of nothingToAsk) prompt.checks.clear();
const SCOPES = 'mcp:read mcp:write';
const person = 'ada';

/// Agreed long ago, to whatever is asked.
async function agreed({ oidc }) {
    if (process.env.DENY) throw new errors.AccessDenied('the person says no');
    const grant = new oidc.provider.Grant({ accountId: person, clientId: oidc.client.clientId });
    grant.addOIDCScope('openid offline_access');
    for (const resource of Object.keys(oidc.resourceServers)) grant.addResourceScope(resource, SCOPES);
    await grant.save();
    return grant;
}

/// The one document that can be had.
async function document(url) {
    const text = readFileSync(process.env.CLIENT_DOCUMENT, 'utf8');
    const isThere = JSON.parse(text).client_id === String(url);
    return new Response(text, { status: isThere ? 200 : 404, headers: { 'content-type': 'application/json' } });
}

const configuration = resource => ({
    clients: machine ? [client, machine] : [client],
    scopes: ['openid', 'offline_access'],
    clientAuthMethods: (process.env.METHODS ?? 'none,client_secret_basic,client_secret_post,private_key_jwt').split(','),
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { policy: nothingToAsk },
    loadExistingGrant: agreed,
    fetch: document,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: (_, asking, source) =>
        asking.grantTypeAllowed('refresh_token') && (!process.env.OFFLINE || source.scopes.has('offline_access')),
    expiresWithSession: () => false,
    ttl: {
        AccessToken: number('ACCESS_SECONDS', 3600),
        ClientCredentials: number('ACCESS_SECONDS', 3600),
        RefreshToken: number('REFRESH_SECONDS', 86400),
        Session: 86400,
        Grant: 86400,
        IdToken: 3600,
        Interaction: 60
    },
    features: {
        devInteractions: { enabled: false },
        dPoP: { enabled: false },
        clientCredentials: { enabled: true },
        revocation: { enabled: true },
        registration: { enabled: process.env.REGISTRATION !== '0' },
        ...(process.env.CLIENT_DOCUMENT && {
            clientIdMetadataDocument: { enabled: true, ack: 'draft-02', cacheDuration: { min: 1, max: 60 } }
        }),
        resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo(_, asked) {
                if (asked !== resource) throw new errors.InvalidTarget();
                return { scope: SCOPES, audience: resource, accessTokenFormat: 'opaque' };
            }
        }
    }
});

function count(provider) {
    const grants = { authorization_code: 'exchanges', refresh_token: 'refreshes' };
    const bump = name => counts[name]++;
    provider.on('registration_create.success', () => bump('registrations'));
    provider.on('authorization.success', () => bump('logins'));
    provider.on('grant.success', ({ oidc }) => grants[oidc.params.grant_type] && bump(grants[oidc.params.grant_type]));
    provider.on('grant.error', ({ oidc }) => oidc.params?.grant_type === 'refresh_token' && bump('refused'));
    provider.on('grant.revoked', ({ oidc }) => bump(oidc.route === 'revocation' ? 'revocations' : 'families'));
    provider.on('server_error', (_, error) => console.error(error));
}

let resourceServer;
const origin = await listen((request, response) => resourceServer(request, response));
const resource = process.env.RESOURCE ?? `${origin}/mcp`;
let authorizationServer;
const issuer = await listen((request, response) => authorizationServer(request, response));
const provider = new Provider(issuer, configuration(resource));
count(provider);

provider.use(async (ctx, next) => {
    if (ctx.path !== '/token') return next();
    if (trouble.left > 0) return (trouble.left--, (ctx.status = 503));
    await next();
    for (const name of ['code', 'code_verifier', 'refresh_token', 'client_secret'])
        if (ctx.oidc?.params?.[name]) seen.add(ctx.oidc.params[name]);
    for (const name of ['access_token', 'refresh_token']) if (ctx.body?.[name]) seen.add(ctx.body[name]);
    await sleep(number('TOKEN_DELAY_MS', 0));
});

// The browser of the person has been here before.
const session = new provider.Session({ accountId: person, loginTs: Math.floor(Date.now() / 1000) });
await session.save(86400);
const answer = provider.callback();
authorizationServer = (request, response) => {
    request.headers.cookie = `_session=${session.jti}`;
    answer(request, response);
};
resourceServer = protect({
    origin,
    issuer,
    async verify(token) {
        const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
        if (!found || found.isExpired) return undefined;
        const { accountId: subject = 'nobody', clientId: client, aud } = found;
        return { subject, client, scopes: [...found.scopes], resource: aud };
    }
});
ready({
    mcp: `${origin}/mcp`,
    issuer,
    counts: `${origin}/__counts`,
    client: { id: client.client_id, secret: client.client_secret }
});
