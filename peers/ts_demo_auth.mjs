// The demo authorization server of the TypeScript SDK, and an MCP server that takes its tokens, on two free ports.
//
//     ts_demo_auth.mjs    prints {"mcp", "issuer", "counts"} when ready, and ends with its standard input
//
// Its issuer ends in a slash, it sends no `iss`, and it knows secrets in the body only. The demo asks nobody and gives no
// refresh tokens; those are added here, each good for one use.
//
//     ACCESS_SECONDS=3600    life of an access token
import { randomUUID } from 'node:crypto';
import { counts, listen, number, protect, ready, require, trouble } from './peer.mjs';

const express = require('express');
const { DemoInMemoryAuthProvider } = require('@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js');
const { InvalidGrantError } = require('@modelcontextprotocol/sdk/server/auth/errors.js');
const { mcpAuthRouter } = require('@modelcontextprotocol/sdk/server/auth/router.js');

class Provider extends DemoInMemoryAuthProvider {
    /// Tokens to refresh with, and what each is for.
    refreshTokens = new Map();

    constructor() {
        super();
        const register = this.clientsStore.registerClient;
        this.clientsStore.registerClient = client => {
            counts.registrations += 1;
            return register.call(this.clientsStore, client);
        };
    }

    async authorize(client, params, response) {
        await super.authorize(client, params, response);
        counts.logins += 1;
    }

    async exchangeAuthorizationCode(client, code) {
        const tokens = await super.exchangeAuthorizationCode(client, code);
        counts.exchanges += 1;
        return this.withLife(tokens);
    }

    async exchangeRefreshToken(client, token) {
        const before = this.refreshTokens.get(token);
        if (before?.clientId !== client.client_id) {
            counts.refused += 1;
            throw new InvalidGrantError('this refresh token is not good any more');
        }
        this.refreshTokens.delete(token);
        counts.refreshes += 1;
        const access = randomUUID();
        this.tokens.set(access, { ...before, token: access });
        return this.withLife({ access_token: access, token_type: 'bearer', scope: before.scopes.join(' ') });
    }

    async revokeToken(_client, { token }) {
        counts.revocations += 1;
        this.refreshTokens.delete(token);
        this.tokens.delete(token);
    }

    /// How long they live, and what to refresh them with.
    withLife(tokens) {
        const seconds = number('ACCESS_SECONDS', 3600);
        const known = this.tokens.get(tokens.access_token);
        known.expiresAt = Date.now() + seconds * 1000;
        const refresh = randomUUID();
        this.refreshTokens.set(refresh, known);
        return { ...tokens, expires_in: seconds, refresh_token: refresh };
    }
}

const provider = new Provider();
const authorizationServer = express();
const issuer = new URL(await listen(authorizationServer));
// They count for a quarter of an hour, and tests are fast.
const unlimited = { rateLimit: false };
authorizationServer.post('/token', (_, response, next) =>
    trouble.left > 0 ? (trouble.left--, response.status(503).end()) : next()
);
authorizationServer.use(
    mcpAuthRouter({
        provider,
        issuerUrl: issuer,
        scopesSupported: ['mcp:read', 'mcp:write'],
        authorizationOptions: unlimited,
        clientRegistrationOptions: unlimited,
        revocationOptions: unlimited,
        tokenOptions: unlimited
    })
);

let resourceServer;
const origin = await listen((request, response) => resourceServer(request, response));
resourceServer = protect({
    origin,
    issuer: issuer.href,
    verify: token =>
        provider.verifyAccessToken(token).then(
            ({ clientId, scopes, resource }) => ({ subject: 'demo', client: clientId, scopes, resource: String(resource) }),
            () => undefined
        )
});
ready({ mcp: `${origin}/mcp`, issuer: issuer.href, counts: `${origin}/__counts` });
