"""A client that is not ours: the official Python SDK, of either major version,
talks to the server whose path, or URL, is the first argument; a token is the second. Prints a line for each
thing that works and raises at the first that does not."""

import asyncio
import base64
import contextlib
import json
import os
import sys
import time

import mcp
from mcp.types import ElicitResult
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    import httpx2 as httpx  # what version 2 of the SDK uses
except ImportError:
    import httpx

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def check(name, ok, detail=None):
    if not ok:
        raise AssertionError(f"{name}: {str(detail)[:2000]}")
    print(f"ok {mode}: {name}", flush=True)


def plain(result):
    """A result as JSON has it: the versions name their fields differently."""
    return json.loads(result.model_dump_json(by_alias=True, exclude_none=True))


asked = []


async def ask(context, params):
    asked.append(params.message)
    return ElicitResult(action="decline")


@contextlib.asynccontextmanager
async def connect_http():
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {sys.argv[2]}"}, timeout=120) as http:
        if mode == "handshake":
            async with streamable_http_client(sys.argv[1], http_client=http) as (read, write, *_), ClientSession(read, write, elicitation_callback=ask) as session:
                await session.initialize()
                yield session
        else:
            async with mcp.Client(streamable_http_client(sys.argv[1], http_client=http), mode=mode) as client:
                yield client


@contextlib.asynccontextmanager
async def connect():
    if sys.argv[1].startswith("http"):
        async with connect_http() as client:
            yield client
        return
    server = StdioServerParameters(command=sys.argv[1], args=["serve"], env=dict(os.environ))
    if mode == "handshake":
        async with stdio_client(server, errlog=open(os.devnull, "w")) as (read, write), ClientSession(read, write, elicitation_callback=ask) as session:
            await session.initialize()
            yield session
    else:
        async with mcp.Client(server, mode=mode) as client:
            yield client


async def main():
    async with connect() as client:
        async def run(code, language="python", progress=None, **more):
            return plain(await client.call_tool("run_code", {"language": language, "code": code, **more}, progress_callback=progress))

        tools = plain(await client.list_tools())["tools"]
        check("lists run_code", any(t["name"] == "run_code" for t in tools), tools)
        for language, code in (("python", "open('in.txt').read() + '!'"), ("typescript", "Deno.readTextFileSync('in.txt') + '!'")):
            r = await run(code, language, files=[{"path": "in.txt", "text": "hi"}])
            check(f"runs {language} with a file", not r["isError"] and r["structuredContent"]["result"]["json"] == "hi!", r)
        r = await run("import base64\nopen('a.csv', 'w').write('1,2\\n' * 2000)\n" f"display({{'image/png': base64.b64decode('{PNG}')}}, raw=True)")
        blocks = {b["type"]: b for b in r["content"]}
        check("gets an image and a file", blocks["image"]["data"] == PNG and blocks["resource_link"]["name"] == "a.csv", r)
        contents = plain(await client.read_resource(blocks["resource_link"]["uri"]))["contents"]
        check("reads the file", contents[0]["text"] == "1,2\n" * 2000, contents)
        about = json.loads(plain(await client.read_resource("runner://environment"))["contents"][0]["text"])
        check("reads the environment", about["versions"]["cpython"].startswith("3.") and "timeout_seconds" in about["limits"], about)

        seen = []
        async def progress(value, total, message):
            seen.append(message)
        r = await run("import time\nfor i in range(4):\n    print('tick', i)\n    time.sleep(.5)", progress=progress)
        check("sees output as progress, in order", not r["isError"] and [m for m in seen if m.startswith("tick")] and seen == sorted(seen, key=lambda m: m.startswith("tick") and m), seen)

        began = time.monotonic()
        call = asyncio.create_task(run("while True: pass"))
        await asyncio.sleep(.5)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        r = await run("1 + 1")
        check("goes on after a call was abandoned", r["structuredContent"]["result"]["json"] == 2 and time.monotonic() - began < 20, r)
        r = await run("1 // 0")
        check("reports an error", r["isError"] and r["structuredContent"]["error"]["type"] == "ZeroDivisionError", r)
        if mode == "handshake":
            r = await run("import urllib.request\nurllib.request.urlopen('http://shop.example/')")
            check("asks the user", len(asked) == 1 and '"shop.example" at port 80' in asked[0] and "did not allow it" in json.dumps(r), (asked, r))
        name = f"py-{mcp.__name__}-{mode}-{os.getpid()}"
        for language, code in (("python", "x = 41\nopen('kept.txt', 'w').write('kept')"), ("typescript", "const y: number = 41;")):
            r = await run(code, language, session=name)
            check(f"begins a session in {language}", not r["isError"], r)
    async with connect() as client:  # another process of the server
        for language, code, want in (("python", "x + 1", 42), ("python", "open('kept.txt').read()", "kept"), ("typescript", "Deno.readTextFileSync('kept.txt')", "kept")):
            r = plain(await client.call_tool("run_code", {"language": language, "code": code, "session": name}))
            check(f"continues it after a restart: {code}", not r["isError"] and r["structuredContent"]["result"]["json"] == want, r)


for mode in ("handshake",) if not hasattr(mcp, "Client") else ("handshake", "legacy", "auto"):
    asyncio.run(asyncio.wait_for(main(), 240))
