"""STREAMS answers at a time for SECONDS, as clients of language models in Python read them: the time of each event is noted."""
import asyncio, json, sys, time

import aiohttp


async def stream(session, url, until, gaps):
    while time.perf_counter() < until:
        last = time.perf_counter()
        async with session.get(url) as answer:
            async for line in answer.content:
                if line.startswith(b"data:"):
                    now = time.perf_counter()
                    gaps.append(now - last)
                    last = now


async def main(url, streams, seconds):
    gaps = []
    until = time.perf_counter() + seconds
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout()) as session:
        await asyncio.gather(*(stream(session, url, until, gaps) for _ in range(streams)))
    print(json.dumps({"events": len(gaps)}))


if sys.argv[1] == "--version":
    print(aiohttp.__version__)
else:
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
