"""The Python SDK, `mcp` 2.x: asks which protocol there is, and takes the modern one. The job and what is told of it are in
`job.mjs`."""

import json
import os
import sys
from contextlib import AsyncExitStack

import anyio
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

ADA = ElicitResult(action="accept", content={"username": "Ada", "email": "ada@example.com"})


def plain(items):
    return [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]


async def every(listing, field, name):
    """Every page of a list. A server without it has an empty one."""
    found, cursor = [], None
    while True:
        try:
            page = await listing(cursor=cursor)
        except MCPError as error:
            if error.code == -32601:
                return []
            raise
        found += [str(getattr(item, name)) for item in getattr(page, field)]
        cursor = page.next_cursor
        if cursor is None:
            return found


async def perform(client, job, questions, told):
    is_modern = client.protocol_version >= "2026"
    seen = {
        "protocol": "modern" if is_modern else "handshake",
        "tools": await every(client.list_tools, "tools", "name"),
        "resources": await every(client.list_resources, "resources", "uri"),
        "prompts": await every(client.list_prompts, "prompts", "name"),
        "calls": [plain((await client.call_tool(name, values)).content) for name, values in job["calls"]],
        "reads": [plain((await client.read_resource(uri)).contents) for uri in job["reads"]],
        "gets": [plain((await client.get_prompt(name, values)).messages) for name, values in job["gets"]],
        "asked": None,
        "changed": None,
    }
    if job.get("asks"):
        name, values = job["asks"]
        content = plain((await client.call_tool(name, values)).content)
        seen["asked"] = {"questions": questions, "content": content}
    if job.get("changes"):
        async with AsyncExitStack() as stack:
            ear = await stack.enter_async_context(client.listen(tools_list_changed=True)) if is_modern else None
            await client.call_tool(job["changes"], {})
            with anyio.fail_after(30):
                await (ear.__anext__() if ear else told.wait())
            seen["changed"] = True
    return seen


async def main():
    job = json.loads(sys.argv[1])
    connect = job["connect"]
    server = connect.get("url") or StdioServerParameters(
        command=connect["command"], args=connect["args"], env=dict(os.environ)
    )
    questions, told = [], anyio.Event()

    async def asked(_context, params):
        questions.append(params.message)
        return ADA

    async def heard(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async with Client(server, elicitation_callback=asked, message_handler=heard) as client:
        print(json.dumps(await perform(client, job, questions, told)), flush=True)


anyio.run(main)
