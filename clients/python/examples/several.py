"""Runs several commands at once, and one with a time limit."""
import asyncio

from shelld import connect


async def main() -> None:
    async with connect() as shelld:
        results = await asyncio.gather(*(shelld.run(command) for command in ("true", "sleep 0.3", "false")))
        print([result.exit_code for result in results], (await shelld.run("sleep 100", timeout=0.3)).timed_out)


asyncio.run(main())
