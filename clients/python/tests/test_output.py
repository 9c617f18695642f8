"""The output of jobs: complete, in order, with little memory, for early and late readers."""
import asyncio
import hashlib
import resource
import subprocess
import sys
import unittest

from .support import environment, needs_linux

import shelld
from shelld import Output as Piece
from shelld import connect
from shelld._results import LineSplitter

BYTES = 100_000_000
# A million lines of 100 bytes, each another one.
NUMBERS = 'seq -f "%099.0f" 1 1000000'
READER = """
import asyncio, hashlib, resource, sys
from shelld import connect
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
async def asynchronous(command):
    async with connect() as shelld, shelld.start(command, mode="pipe") as job:
        before, digest = peak(), hashlib.sha256()
        async for line in job.lines():
            digest.update(line.encode() + b"\\n")
        print(digest.hexdigest(), peak() - before)
def blocking(command):
    with connect() as shelld, shelld.start(command, mode="pipe") as job:
        before, digest = peak(), hashlib.sha256()
        for line in job.lines():
            digest.update(line.encode() + b"\\n")
        print(digest.hexdigest(), peak() - before)
def pieces(command):
    with connect() as shelld, shelld.start(command, mode="pipe") as job:
        before, digest = peak(), hashlib.sha256()
        for piece in job.output():
            digest.update(piece.data)
        print(digest.hexdigest(), peak() - before)
if sys.argv[1] == "asynchronous":
    asyncio.run(asynchronous(sys.argv[2]))
else:
    globals()[sys.argv[1]](sys.argv[2])
"""


class Large(unittest.TestCase):
    def test_one_line(self):
        """It is broken, so that memory stays flat."""
        command = f"head -c {BYTES} /dev/zero | tr '\\0' x"
        done = subprocess.run([sys.executable, "-c", READER, "asynchronous", command], env=environment(), stdout=subprocess.PIPE, check=True)
        digest, megabytes = done.stdout.split()
        line = hashlib.sha256()
        for at in range(0, BYTES, 1 << 20):
            line.update(b"x" * min(1 << 20, BYTES - at) + b"\n")
        self.assertEqual(digest.decode(), line.hexdigest())
        self.assertLess(int(megabytes), 30)

    def test_checksum_and_memory(self):
        output = subprocess.run(["bash", "-c", NUMBERS], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(len(output), BYTES)
        want = hashlib.sha256(output).hexdigest()
        for reader in ("asynchronous", "blocking", "pieces"):
            with self.subTest(reader):
                done = subprocess.run(
                    [sys.executable, "-c", READER, reader, NUMBERS], env=environment(), stdout=subprocess.PIPE, check=True
                )
                digest, megabytes = done.stdout.split()
                self.assertEqual(digest.decode(), want)
                self.assertLess(int(megabytes), 30)


class Lines(unittest.TestCase):
    def test_long_lines(self):
        """Where a line is broken depends on its length, and not on the pieces in which it comes."""
        most = 1 << 20
        for length in (most - 1, most, most + 1, 2 * most, 2 * most + 1):
            for end in ("", "\n", "\r\n", "\nnext"):
                text = ("ä" * length + end).encode()
                want = ["ä" * min(most, length - at) for at in range(0, length, most)] + ["next"] * ("next" in end)
                for size in (len(text), len(text) - 1, 65537, most, most + 1):
                    splitter, got = LineSplitter(), []
                    for at in range(0, len(text), size):
                        got += splitter.feed(Piece("stdout", at, text[at : at + size]))
                    got += splitter.end()
                    self.assertEqual([len(line) for line in got], [len(line) for line in want], (length, end, size))
                    self.assertTrue(got == want)


class Output(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.shelld = await connect()

    async def asyncTearDown(self):
        await self.shelld.close()

    async def test_late_readers(self):
        job = await self.shelld.start("seq 3; printf 'no end'", mode="pipe")
        want = ["1", "2", "3", "no end"]
        for condition in ("exit", "closed"):
            await job.wait(**{condition: True})
            for _ in range(2):
                self.assertEqual([line async for line in job.lines()], want)
        again = await self.shelld.job(job.handle)
        self.assertEqual([line async for line in again.lines()], want)

    async def test_closed_was_sent(self):
        """Of a job whose last event was sent nothing can be subscribed to: the output is read."""
        events = self.shelld.events()
        job = await self.shelld.start("seq 30000; printf '\\377'", mode="pipe", events=["closed"])
        self.assertEqual((await events.__anext__())["method"], "job/closed")
        self.assertEqual([line async for line in job.lines()], [*map(str, range(1, 30001)), "\ufffd"])
        self.assertEqual(b"".join([p.data async for p in job.output()])[-3:], b"0\n\xff")

    async def test_left_early(self):
        job = await self.shelld.start("seq 1000; read x; echo $x")
        async for line in job.lines():
            self.assertEqual(line, "1")
            break
        old, new = job.lines(), job.lines()
        self.assertEqual(await old.__anext__(), "1")
        self.assertEqual(await new.__anext__(), "1")
        with self.assertRaises(shelld.ShelldError) as caught:
            await self.rest(old)
        self.assertIn("another iterator reads the output", str(caught.exception))
        await job.answer("end")
        self.assertEqual((await self.rest(new))[-1], "end")
        self.assertEqual(self.shelld._outputs, {})

    async def test_cancelled_read(self):
        """The next read goes on where the cancelled one was."""
        job = await self.shelld.start("read x; seq 3; read x; echo end", mode="pipe", stdin="open", events=["exited"])
        lines, events = job.lines(), self.shelld.events()
        for _ in range(3):
            for reading in (lines, events):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(reading.__anext__(), 0.05)
        await job.write("", appendNewline=True)
        self.assertEqual([await lines.__anext__() for _ in range(3)], ["1", "2", "3"])
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(lines.__anext__(), 0.05)
        await job.write("", appendNewline=True)
        self.assertEqual(await self.rest(lines), ["end"])
        async for event in events:
            if event["method"] == "job/exited":
                break

    async def test_left_after_a_cancelled_read(self):
        job = await self.shelld.start("read x")
        for leave in ("closed", "dropped"):
            lines = job.lines()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(lines.__anext__(), 0.05)
            if leave == "closed":
                await lines.aclose()
                self.assertEqual(await self.rest(lines), [])
            del lines
            while self.shelld._outputs or len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)

    async def test_reader_follows_another_at_once(self):
        """Output of the first one's subscription that is still on its way is not for the second."""
        job = await self.shelld.start("seq 100000; read x; echo end", mode="pipe", stdin="open")
        await job.wait(pattern="100000")
        for _ in range(10):
            old, new = job.lines(), job.lines()
            first = asyncio.ensure_future(old.__anext__())
            second = asyncio.ensure_future(new.__anext__())
            await asyncio.wait({first})
            got = [await second] + [await new.__anext__() for _ in range(99999)]
            self.assertEqual(got, [str(number) for number in range(1, 100001)])
            self.assertIn("another iterator", str(first.exception()))

    async def rest(self, lines):
        return [line async for line in lines]

    async def test_reading_while_it_is_answered(self):
        job = await self.shelld.start('read -p "Name? " n; echo "Hello, $n"')
        reading = asyncio.ensure_future(self.read(job))
        await job.question()
        await job.answer("Ada")
        self.assertEqual(await reading, ["Name? Ada", "Hello, Ada"])

    async def read(self, job, stream=None):
        return [line async for line in job.lines(stream)]

    async def test_two_streams(self):
        job = await self.shelld.start("echo a; echo b >&2; printf c; printf d >&2", mode="pipe")
        self.assertEqual(await self.read(job, "stdout"), ["a", "c"])
        self.assertEqual(await self.read(job, "stderr"), ["b", "d"])
        self.assertEqual(sorted(await self.read(job)), ["a", "b", "c", "d"])

    async def test_background_process_does_not_delay_the_end(self):
        async with self.shelld.start("sleep 1000 & echo done", mode="pipe") as job:
            self.assertEqual(await self.read(job), ["done"])

    async def test_characters(self):
        """Split anywhere, and bytes that are no UTF-8."""
        command = "printf 'a\\303'; sleep 0.1; printf '\\244\\r'; sleep 0.1; printf '\\n\\342\\202'; sleep 0.1; printf '\\254 \\377 b\\n'"
        job = await self.shelld.start(command, mode="pipe")
        self.assertEqual(await self.read(job), ["aä", "€ \ufffd b"])

    async def test_gap(self):
        """What was dropped before the reader came is a line that says so."""
        async with connect(options={"limits": {"spoolDiskBytes": 131072, "spoolMemoryBytes": 131072}}) as client:
            job = await client.start("seq 100000", mode="pipe")
            await job.exit()
            lines = await self.read(job)
        self.assertEqual((lines[0], lines[-1]), ("1", "100000"))
        (mark,) = [line for line in lines if line.startswith("[shelld: ")]
        self.assertRegex(mark, r"^\[shelld: \d+ bytes omitted here, offsets \d+ to 588895\]$|^\[shelld: \d+ bytes omitted here, offsets \d+ to \d+\]$")
        kept = sum(len(line) + 1 for line in lines) - len(mark) - 1
        self.assertLessEqual(abs(kept + int(mark.split()[1]) - 588895), 1)  # a line is cut in two, or is not

    async def test_nothing_is_lost_until_it_is_read(self):
        """What the README says of a program that shall wait for its reader from the first byte on."""
        job = await self.shelld.start("seq 500000", mode="pipe", events=["output"], whenSlow="block")
        await job.wait(quiet=0.3)
        info = (await self.shelld.request("job/get", {"handle": job.handle}))["job"]
        self.assertLess(info["streams"]["stdout"]["nextOffset"], 3_000_000)
        self.assertEqual(await self.read(job), [str(number) for number in range(1, 500001)])

    async def test_slow_reader_slows_the_program(self):
        async with self.shelld.start("yes", mode="pipe") as job:
            lines = job.lines()
            await lines.__anext__()
            await job.wait(quiet=0.5)
            info = (await self.shelld.request("job/get", {"handle": job.handle}))["job"]
            self.assertLess(info["streams"]["stdout"]["nextOffset"], 64_000_000)
            self.assertLess(self.shelld._outputs[job.handle].qsize(), 200)

    @needs_linux
    async def test_events_that_are_not_read(self):
        """The server keeps what was not taken: here are a window of output and the rest of the events."""
        events = self.shelld.events()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        job = await self.shelld.start("yes | head -c 50000000", mode="pipe", events=["output", "exited"])
        await job.exit()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 20_000)
        self.assertEqual((await events.__anext__())["params"]["offset"], 0)


if __name__ == "__main__":
    unittest.main()
