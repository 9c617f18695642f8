"""What can go wrong with a server: each is an error that says what to do, in time, and leaves nothing running."""
import asyncio
import contextlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import unittest
from unittest import mock

from .support import PACKAGE, WATCHDOG_S, logged, marker, needs_linux, processes, wait_until_gone

import shelld
from shelld import connect

FAKE = str(PACKAGE / "tests" / "fake_server.py")


def fake(name, **options):
    return connect(sys.executable, args=[FAKE, name], **options)


class NoServer(unittest.TestCase):
    def refused(self, error, *parts, **options):
        with self.assertRaises(error) as caught:
            connect(**options).open()
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_missing(self):
        self.refused(shelld.ServerNotFound, "/no/such/shelld", "does not exist", path="/no/such/shelld")
        with mock.patch.dict(os.environ, SHELLD="/no/other"):
            self.refused(shelld.ServerNotFound, "/no/other", "SHELLD")
        with mock.patch.dict(os.environ, PATH="/nowhere"):
            os.environ.pop("SHELLD")
            self.refused(shelld.ServerNotFound, "go build ./cmd/shelld", sys.platform)

    def test_not_executable(self):
        with tempfile.TemporaryDirectory() as directory:
            self.refused(shelld.ServerNotFound, "is a directory", path=directory)
            file = pathlib.Path(directory, "shelld")
            file.write_text("")
            self.refused(shelld.ServerNotFound, "is not executable", path=str(file))

    def test_other_processor(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "shelld")
            file.write_bytes(b"\x7fELF" + bytes(100))
            file.chmod(0o755)
            self.refused(shelld.UnsupportedPlatform, str(file), "build shelld here", path=str(file))

    def test_spaces(self):
        with tempfile.TemporaryDirectory(prefix="a 'b' $c ") as directory:
            path = shutil.copy(os.environ["SHELLD"], os.path.join(directory, "shell d"))
            with connect(path, rootDirectory=directory) as client:
                self.assertEqual(client.run("pwd").stdout.strip(), os.path.realpath(directory))


@needs_linux
class BadServers(unittest.IsolatedAsyncioTestCase):
    async def refused(self, error, name, *parts, **options):
        with self.assertRaises(error) as caught:
            await fake(name, **options)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        self.assertEqual(processes(f"{sys.executable} {FAKE} {name}"), [])
        self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

    async def test_no_shelld(self):
        await self.refused(shelld.NotShelld, "silent", "did not answer", connect_timeout=0.5)
        await self.refused(shelld.NotShelld, "deaf", "did not answer", connect_timeout=0.5)
        await self.refused(shelld.NotShelld, "echo", "initialize")
        await self.refused(shelld.NotShelld, "chatty", "Welcome!")
        await self.refused(shelld.NotShelld, "gone", "status 3", "no such thing")
        await self.refused(shelld.NotShelld, "other", "protocolVersion")

    async def test_other_version(self):
        await self.refused(shelld.UnsupportedVersion, "old", "version 0", "version 1")
        await self.refused(shelld.UnsupportedVersion, "new", "version 2", "version 1")

    async def test_newer_members_are_ignored(self):
        async with fake("newer_members") as client:
            self.assertEqual((await client.run("true")).stdout, "fine")

    async def test_garbage(self):
        for name, part in (("garbage", "debug: got a request"), ("endless", "no message")):
            async with fake(name) as client:
                with self.assertRaises(shelld.ProtocolError) as caught:
                    await client.run("true")
                self.assertIn(part, str(caught.exception))
                with self.assertRaises(shelld.ServerEnded):  # and so is each request after it
                    await client.run("true")

    async def test_dies(self):
        async with fake("dies") as client:
            results = await asyncio.gather(client.run("true"), client.run("true"), return_exceptions=True)
        for error in results:
            self.assertIsInstance(error, shelld.ServerEnded)
            self.assertIn("panic: something is nil", str(error))
            self.assertEqual(error.status, 2)

    async def test_closes_its_output(self):
        async with fake("closes_output") as client:
            with self.assertRaises(shelld.ServerEnded):
                await client.run("true")

    async def test_killed(self):
        command = marker()
        async with connect() as client:
            job = await client.start(f"echo ready; {command}; true")
            await job.wait(pattern="ready")
            lines = job.lines()
            self.assertEqual(await lines.__anext__(), "ready")
            waiting = [asyncio.ensure_future(c) for c in (client.run(command), job.exit(), lines.__anext__())]
            events = asyncio.ensure_future(client.events().__anext__())
            await job.wait(quiet=0.1)
            left = processes(command)
            os.kill(client.pid, signal.SIGKILL)
            for error in await asyncio.gather(*waiting, events, return_exceptions=True):
                self.assertIsInstance(error, shelld.ServerEnded)
                self.assertIn("signal 9", str(error))
        self.assertTrue(left)
        wait_until_gone(*left)

    async def test_closed(self):
        client = await connect()
        pending = asyncio.ensure_future(client.run("sleep 1000"))
        await client.run("true")  # that one is on its way
        await client.close()
        await client.close()
        self.assertIn("shutdown", str((await asyncio.gather(pending))[0].raw["exit"]))
        with self.assertRaises(shelld.ServerEnded) as caught:
            await client.run("true")
        self.assertIn("connect again", str(caught.exception))


class Refused(unittest.IsolatedAsyncioTestCase):
    async def test_message_too_large(self):
        """One call fails, and not the connection with all jobs."""
        async with connect() as client, client.start("read x") as job:
            with self.assertRaises(shelld.MessageTooLarge) as caught:
                await job.write("x" * (16 << 20))
            self.assertEqual(caught.exception.limit, 16 << 20)
            self.assertIn("maxMessageBytes", str(caught.exception))
            with self.assertRaises(ValueError):
                await client.request("env/set", {"name": "A", "value": float("nan")})
            with self.assertRaises(TypeError):
                await client.request("env/set", {"name": "A", "value": b"x"})
            self.assertEqual(client._connection._pending, {})
            self.assertEqual((await client.run("echo on")).stdout, "on\n")
        async with connect(options={"limits": {"maxMessageBytes": 1 << 20}}) as client:
            around = len('{"jsonrpc":"2.0","id":2,"method":"env/list","params":{"_meta":{"a":""}}}')
            await client.request("env/list", {"_meta": {"a": "x" * ((1 << 20) - around)}})  # exactly the limit
            with self.assertRaises(shelld.MessageTooLarge):
                await client.request("env/list", {"_meta": {"a": "x" * ((1 << 20) - around + 1)}})
        with self.assertRaises(shelld.MessageTooLarge):
            await connect(rootDirectory="x" * (16 << 20))

    async def test_time_limits(self):
        async with connect() as client, client.shell() as bash:
            self.assertTrue((await client.run("sleep 1000", timeoutMs=100)).timed_out)
            self.assertTrue((await bash.exec("sleep 1000", timeoutMs=100)).timed_out)
            for call in (client.run, bash.exec):
                with self.assertRaises(TypeError):
                    await call("true", timeout=1, timeoutMs=1000)


class BlockingClosed(unittest.TestCase):
    def test_closed(self):
        client = connect().open()
        client.close()
        client.close()
        with self.assertRaises(shelld.ServerEnded):
            client.run("true")

    def test_close_after_close(self):
        """What is left over is closed already."""
        client = connect().open()
        with client.start("seq 3; read x") as job:
            lines = job.lines()
            self.assertEqual(next(lines), "1")
            events = client.events()
            client.close()
        job.close()
        lines.close()
        events.close()

    def test_closed_by_another_thread(self):
        """No call waits for ever, whenever the other thread closes."""
        for _ in range(5):
            client = connect().open()
            started = threading.Barrier(5)

            def calls():
                started.wait()
                with contextlib.suppress(shelld.ServerEnded):
                    while True:
                        client.request("server/stats")

            threads = [threading.Thread(target=calls, daemon=True) for _ in range(3)]
            threads.append(threading.Thread(target=lambda: (started.wait(), client.close()), daemon=True))
            for thread in threads:
                thread.start()
            started.wait()
            client.close()
            for thread in threads:
                thread.join(WATCHDOG_S)
                self.assertFalse(thread.is_alive())

    def test_options_none(self):
        with connect(options=None) as client:
            self.assertTrue(client.run("true").ok)
        with mock.patch("shelld._client.Connection.open") as opened, self.assertRaises(TypeError):
            connect(options=1).open()
        opened.assert_not_called()

    def test_called_by_a_coroutine(self):
        async def secret(ask):
            return client.run("echo hunter2").stdout.strip()

        with logged() as records, connect(secret=secret) as client, client.start('read -s -p "Password: " p'):
            self.assertIn("a coroutine has called the blocking client", str(records.get(timeout=WATCHDOG_S).exc_info[1]))


if __name__ == "__main__":
    unittest.main()
