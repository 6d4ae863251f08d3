"""A server of the Python SDK that speaks all revisions on one address.

    fastmcp_server.py PORT [--sse]

Listens on 127.0.0.1, on any free port if PORT is 0, and says which: `listening 41234`. The address is /mcp,
or /sse with `--sse` (the HTTP+SSE transport of 2024-11-05).
"""

import socket
import sys

import uvicorn
from fastmcp import Context, FastMCP
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

server = FastMCP("fastmcp-peer", version="1.0.0", instructions="A peer for tests.")


@server.tool
def echo(text: str) -> str:
    """Gives back what it got."""
    return text


@server.tool
def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


class Order(BaseModel):
    name: str
    count: int = 1


@server.tool
async def order(context: Context) -> str:
    """Asks the user for a name and a count, with a request of its own: until 2025-11-25."""
    answer = await context.elicit("What shall it be?", response_type=Order)
    if answer.action == "accept":
        return f"{answer.data.count} x {answer.data.name}"
    return answer.action


@server.tool
async def reserve(context: Context) -> str | InputRequiredResult:
    """Asks the user for a name and a count, with a result that wants more: since 2026-07-28."""
    if not context.input_responses:
        question = ElicitRequestFormParams(message="For whom?", requested_schema=Order.model_json_schema())
        return InputRequiredResult(
            input_requests={"who": ElicitRequest(params=question)}, request_state="reserve-1"
        )
    answer = context.input_responses["who"]
    if answer.action == "accept":
        order = Order.model_validate(answer.content)
        return f"{order.count} x {order.name}, {context.request_state}"
    return answer.action


@server.tool
async def count(to: int, context: Context) -> int:
    """Counts, and reports progress at each step."""
    for step in range(1, to + 1):
        await context.report_progress(progress=step, total=to, message=f"step {step}")
    return to


@server.tool
def fail() -> str:
    """Always fails."""
    raise ValueError("this tool always fails")


@server.resource("peer://greeting", mime_type="text/plain")
def greeting() -> str:
    """A short text."""
    return "Hello from the peer"


@server.resource("peer://square/{number}", mime_type="text/plain")
def square(number: int) -> str:
    """The square of a number."""
    return str(number * number)


@server.prompt
def introduce(name: str) -> str:
    """Asks for an introduction."""
    return f"Please introduce {name} in one sentence."


def main() -> None:
    transport = "sse" if "--sse" in sys.argv else "http"
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    print(f"listening {listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(server.http_app(transport=transport), log_level="warning", lifespan="on")
    uvicorn.Server(config).run(sockets=[listener])


main()
