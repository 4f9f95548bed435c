"""FastMCP's client talks to the server over HTTP whose URL and token are the arguments.
Prints a line for each thing that works and raises at the first that does not."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport


def check(name, ok, detail=None):
    if not ok:
        raise AssertionError(f"{name}: {str(detail)[:2000]}")
    print(f"ok {mode}: {name}", flush=True)


async def main():
    asked, seen = [], []

    async def ask(message, response_type, params, context):
        asked.append(message)
        return ElicitResult(action="decline")

    async def progress(value, total, message):
        seen.append(message)

    def connect():
        transport = StreamableHttpTransport(sys.argv[1], headers={"Authorization": f"Bearer {sys.argv[2]}"})
        return Client(transport, elicitation_handler=ask, progress_handler=progress, mode=mode)

    async with connect() as client:
        async def run(code, **more):
            r = await client.call_tool("run_code", {"language": "python", "code": code, **more}, raise_on_error=False)
            return r.is_error, "".join(getattr(b, "text", "") for b in r.content), r

        tools = await client.list_tools()
        check("lists run_code", any(t.name == "run_code" for t in tools), tools)
        failed, text, r = await run("open('a.csv', 'w').write('1,2\\n' * 2000)\nopen('in.txt').read() + '!'", files=[{"path": "in.txt", "text": "hi"}])
        check("runs with a file", not failed and "hi!" in text, text)
        links = [b for b in r.content if b.type == "resource_link"]
        contents = await client.read_resource(str(links[0].uri))
        check("reads the file that it left", contents[0].text == "1,2\n" * 2000, contents)
        failed, text, _ = await run("import time\nfor i in range(4):\n    print('tick', i)\n    time.sleep(.5)")
        check("sees output as progress", not failed and [m for m in seen if m and m.startswith("tick")], seen)
        call = asyncio.create_task(run("while True: pass"))
        await asyncio.sleep(0.5)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        failed, text, _ = await run("1 + 1")
        check("goes on after a call was abandoned", not failed and "2" in text, text)
        failed, text, _ = await run("import urllib.request\nurllib.request.urlopen('http://shop.example/')")
        if mode == "legacy":
            told = len(asked) == 1 and '"shop.example" at port 80' in asked[0] and "the user was asked and did not allow it" in text
        else:  # revision 2026-07-28 has no requests of servers
            told = not asked and "--allow-net" in text
        check("refuses a host", failed and told, (asked, text))
        failed, text, _ = await run("x = 41", session=f"fast-{mode}")
        check("begins a session", not failed, text)
    async with connect() as client:
        r = await client.call_tool("run_code", {"language": "python", "code": "x + 1", "session": f"fast-{mode}"})
        check("continues it on another connection", "42" in r.content[0].text, r)


for mode in ("legacy", "auto"):
    asyncio.run(asyncio.wait_for(main(), 240))
