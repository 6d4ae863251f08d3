"""FastMCP's client: asks which protocol there is, and takes the modern one. It hears of changes only with a handshake, so that
is a connection of its own. The job and what is told of it are in `job.mjs`."""

import json
import os
import sys

import anyio
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import StdioTransport
from mcp.shared.exceptions import MCPError

ADA = {"username": "Ada", "email": "ada@example.com"}


class Ear(MessageHandler):
    def __init__(self):
        super().__init__()
        self.told = anyio.Event()

    async def on_tool_list_changed(self, message):
        self.told.set()


def plain(items):
    return [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]


async def names(listing, name):
    """A list, all pages of it. A server without it has an empty one."""
    try:
        return [str(getattr(item, name)) for item in await listing()]
    except MCPError as error:
        if error.code == -32601:
            return []
        raise


def server(connect):
    if "url" in connect:
        return connect["url"]
    return StdioTransport(connect["command"], connect["args"], env=dict(os.environ), keep_alive=False)


async def main():
    job = json.loads(sys.argv[1])
    questions = []

    async def asked(message, _kind, _params, _context):
        questions.append(message)
        return ADA

    async with Client(server(job["connect"]), elicitation_handler=asked) as client:
        seen = {
            "protocol": "modern" if client.protocol_version >= "2026" else "handshake",
            "tools": await names(client.list_tools, "name"),
            "resources": await names(client.list_resources, "uri"),
            "prompts": await names(client.list_prompts, "name"),
            "calls": [plain((await client.call_tool(name, values)).content) for name, values in job["calls"]],
            "reads": [plain(await client.read_resource(uri)) for uri in job["reads"]],
            "gets": [plain((await client.get_prompt(name, values)).messages) for name, values in job["gets"]],
            "asked": None,
            "changed": None,
        }
        if job.get("asks"):
            name, values = job["asks"]
            content = plain((await client.call_tool(name, values)).content)
            seen["asked"] = {"questions": questions, "content": content}
    if job.get("changes"):
        ear = Ear()
        async with Client(server(job["connect"]), message_handler=ear, mode="legacy") as client:
            # Only what was seen can change.
            await client.list_tools()
            await client.call_tool(job["changes"], {})
            with anyio.fail_after(30):
                await ear.told.wait()
            seen["changed"] = True
    print(json.dumps(seen), flush=True)


anyio.run(main)
