"""FastMCP with its own authorization server, which gives every client a secret.

    fastmcp_oauth.py    prints {"mcp", "issuer", "counts"} when ready, and ends with its standard input

It asks nobody. Refresh tokens are good for one use. One address serves the documents, the logins and /mcp. The tool
`write` is neither shown nor called without the scope `mcp:write`; nothing says so with a status.

    ACCESS_SECONDS=3600    life of an access token
"""

import json
import os
import socket
import sys
import threading

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import require_scopes
from fastmcp.server.auth.providers import in_memory
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from starlette.responses import JSONResponse

SCOPES = ["mcp:read", "mcp:write"]
in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = int(os.environ.get("ACCESS_SECONDS", "3600"))
counts = dict.fromkeys(
    ["registrations", "logins", "exchanges", "refreshes", "refused", "revocations", "calls"], 0
)


class Provider(in_memory.InMemoryOAuthProvider):
    """The one for tests that comes with it, counting."""

    async def register_client(self, client_info):
        await super().register_client(client_info)
        counts["registrations"] += 1

    async def authorize(self, client, params):
        counts["logins"] += 1
        return await super().authorize(client, params)

    async def exchange_authorization_code(self, client, authorization_code):
        counts["exchanges"] += 1
        return await super().exchange_authorization_code(client, authorization_code)

    async def load_refresh_token(self, client, refresh_token):
        found = await super().load_refresh_token(client, refresh_token)
        counts["refused"] += found is None
        return found

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        counts["refreshes"] += 1
        return await super().exchange_refresh_token(client, refresh_token, scopes)

    async def revoke_token(self, token):
        counts["revocations"] += 1
        await super().revoke_token(token)


listener = socket.create_server(("127.0.0.1", 0))
origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
server = FastMCP(
    "fastmcp-oauth-peer",
    version="1.0.0",
    auth=Provider(
        base_url=origin,
        required_scopes=["mcp:read"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.custom_route("/__counts", methods=["GET"])
async def tell(_request):
    return JSONResponse(counts)


def told(text: str) -> str:
    token = get_access_token()
    counts["calls"] += 1
    return json.dumps({"subject": token.client_id, "client": token.client_id, "scopes": token.scopes, "text": text})


@server.tool(annotations={"readOnlyHint": True})
def echo(text: str = "") -> str:
    """Tells who asks."""
    return told(text)


@server.tool(auth=require_scopes("mcp:write"))
def write(text: str = "") -> str:
    """Tells who asks."""
    return told(text)


def main() -> None:
    app = server.http_app(transport="http", stateless_http=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    print(json.dumps({"mcp": f"{origin}/mcp", "issuer": origin, "counts": f"{origin}/__counts"}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).run(sockets=[listener])


main()
