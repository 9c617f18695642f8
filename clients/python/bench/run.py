"""Measures run(["true"]) against Python's own ways to start a program, in one run: python3 bench/run.py [ROUNDS]

The four take turns, so that the load of the machine is the same for all. Needs $SHELLD or shelld on PATH.
"""
import asyncio
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from shelld import connect

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 300


async def spawn():
    process = await asyncio.create_subprocess_exec("true", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    await process.communicate()


async def asynchronous(client):
    times = {"create_subprocess_exec": [], "await run": []}
    for _ in range(ROUNDS):
        for name, call in (("create_subprocess_exec", spawn), ("await run", lambda: client.run(["true"]))):
            begin = time.perf_counter()
            await call()
            times[name].append(time.perf_counter() - begin)
    return times


def blocking(client):
    times = {"subprocess.run": [], "run": []}
    for _ in range(ROUNDS):
        for name, call in (
            ("subprocess.run", lambda: subprocess.run(["true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)),
            ("run", lambda: client.run(["true"])),
        ):
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return times


async def main():
    async with connect() as client:
        return await asynchronous(client)


def report(times):
    own, ours = (statistics.median(values) * 1000 for values in times.values())
    names = list(times)
    print(f"{names[0]}: p50 {own:.2f} ms; {names[1]}: p50 {ours:.2f} ms; ratio {ours / own:.2f}")


with connect() as client:
    report(blocking(client))
report(asyncio.run(main()))
