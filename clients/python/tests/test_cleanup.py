"""What is cancelled, left or killed leaves nothing behind."""
import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
import unittest
from unittest import mock

from .support import WATCHDOG_S, descriptors, environment, marker, needs_linux, processes, settle, wait_until_gone

from shelld import AsyncJob, ForkedClient, connect

CLIENT = """
import sys
from shelld import connect
shelld = connect().open()
job = shelld.start("setsid %s & echo ready; %s; wait")
job.wait(pattern="ready")
job.wait(quiet=0.1)
print(shelld.pid, flush=True)
sys.stdin.read()
"""
FORKS = """
import asyncio, os, sys, time
from shelld import connect
def fork(server):
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    print(server, child, flush=True)
def blocking(command):
    with connect() as shelld, shelld.start(f"echo ready; {command}; true") as job:
        job.wait(pattern="ready")
        job.wait(quiet=0.1)
        fork(shelld.pid)
        time.sleep(3600)
async def asynchronous(command):
    async with connect() as shelld, shelld.start(f"echo ready; {command}; true") as job:
        await job.wait(pattern="ready")
        await job.wait(quiet=0.1)
        fork(shelld.pid)
        time.sleep(3600)
if sys.argv[1] == "asynchronous":
    asyncio.run(asynchronous(sys.argv[2]))
else:
    blocking(sys.argv[2])
"""
INTERRUPTED = """
import os, signal
from shelld import connect
with connect() as shelld:
    shelld.start("%s; true")
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        shelld.run("%s")
    except KeyboardInterrupt:
        while shelld.request("server/stats")["connection"]["requestsInFlight"] > 1:
            pass
        print("withdrawn")
"""


@needs_linux
class Cleanup(unittest.IsolatedAsyncioTestCase):
    async def test_thousand_cancelled_calls(self):
        command = marker()
        async with connect() as client:
            shell = await client.shell()
            idle = [await client.start("read x") for _ in range(4)]
            calls = (
                lambda n: client.run(command),
                lambda n: shell.wait(pattern="never", timeout=None),
                lambda n: client.start(command)._start(),
                lambda n: shell.exec("sleep 1000"),
                lambda n: idle[n].lines().__anext__(),
            )

            async def cancelled(number):
                task = asyncio.ensure_future(calls[number % 5](number // 5 % 4))
                for _ in range(number % 7):
                    await client.request("job/list", {"live": False})  # some are under way when they are cancelled
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    result = await task
                    if isinstance(result, AsyncJob):  # the start was faster
                        await result.close()

            await cancelled(0)
            before = descriptors(), descriptors(client.pid)
            for first in range(0, 1000, 20):
                await asyncio.gather(*(cancelled(n) for n in range(first, first + 20)))
            await shell.exec("true")
            await settle(client)
            kept = [job.handle for job in (shell, *idle)]
            wait_until_gone(*processes(command))  # an answer may come before the end of what was withdrawn
            for job in (await client.request("job/list", {"live": True}))["jobs"]:
                if job["handle"] not in kept:
                    await client.request("job/wait", {"handle": job["handle"], "until": [{"closed": True}]})
            self.assertEqual(processes(command), [])
            self.assertEqual([job["handle"] for job in (await client.request("job/list", {"live": True}))["jobs"]], kept)
            self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})
            connection = client._connection
            self.assertEqual((connection._pending, connection._late, connection._questions, client._outputs), ({}, {}, {}, {}))
            after = descriptors(), descriptors(client.pid)
            self.assertEqual(after[0], before[0])
            self.assertLess(after[1], before[1] + 10)  # the server keeps some for its next jobs

    async def test_killed_client(self):
        command = marker()
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT % (command, command)],
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as client:
            server = int(client.stdout.readline())
            jobs = processes(command)
            self.assertEqual(len(jobs), 2)
            os.kill(client.pid, signal.SIGKILL)
            wait_until_gone(server, *jobs)

    async def test_forgotten(self):
        """A client that ends without close."""
        command = marker()
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT % (command, command)],
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as client:
            server = int(client.stdout.readline())
            jobs = processes(command)
            _, errors = client.communicate()
            self.assertEqual((client.returncode, errors), (0, b""))
            wait_until_gone(server, *jobs)

    async def test_interrupted(self):
        command = marker()
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED % (command, command)], env=environment(), stdout=subprocess.PIPE, check=True
        )
        self.assertEqual(done.stdout, b"withdrawn\n")
        self.assertEqual(processes(command), [])


def in_fork(function):
    """Calls a function in a fork of this process, where it must return."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    descriptor = os.pidfd_open(child)
    try:
        if not select.select([descriptor], [], [], WATCHDOG_S)[0]:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(descriptor)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise AssertionError(f"the fork has ended with status {status}")


@needs_linux
class Forks(unittest.TestCase):
    def test_fork_outlives_a_killed_client(self):
        for how in ("blocking", "asynchronous"):
            with self.subTest(how):
                command = marker()
                with subprocess.Popen(
                    [sys.executable, "-W", "ignore", "-c", FORKS, how, command], env=environment(), stdout=subprocess.PIPE
                ) as client:
                    server, child = map(int, client.stdout.readline().split())
                    try:
                        jobs = processes(command)
                        self.assertEqual(len(jobs), 1)
                        client.kill()
                        wait_until_gone(server, *jobs)
                    finally:
                        os.kill(child, signal.SIGKILL)

    def test_blocking_calls(self):
        with connect() as client, client.start("seq 3; read x") as job:
            lines, events = job.lines(), client.events()
            self.assertEqual(next(lines), "1")
            lines._items.clear()
            calls = (
                lambda: client.run("true"), lambda: client.start("true"), client.shell, client.events, job.lines, job.question,
                job.kill, lambda: client.request("job/list"), lambda: next(lines), lambda: next(events),
            )

            def check():
                for call in calls:
                    with self.assertRaisesRegex(ForkedClient, f"a fork of process {os.getppid()}"):
                        call()
                for one in (lines, job, client):  # it has none of these to end
                    one.close()

            in_fork(check)
            self.assertEqual(client.run("echo on").stdout, "on\n")

    def test_asynchronous_calls(self):
        async def main():
            async with connect() as client, client.start("seq 3; read x") as job:
                lines, events = job.lines(), client.events()
                self.assertEqual(await lines.__anext__(), "1")
                await job.question()
                lines._items.clear()

                async def check():
                    for call in (
                        lambda: client.run("true"), lambda: client.start("true"), client.shell, job.question, job.kill,
                        lambda: client.request("job/list"), lines.__anext__, events.__anext__, job.lines().__anext__,
                    ):
                        with self.assertRaises(ForkedClient):
                            await call()
                    for close in (lines.aclose, job.close, client.close):
                        await close()

                in_fork(lambda: asyncio.run(check()))
                self.assertEqual((await client.run("echo on")).stdout, "on\n")

        asyncio.run(main())

    def test_end_of_a_block(self):
        """A fork leaves the blocks that it was made in."""

        def leave():
            with connect() as client, client.start("read x") as job:
                child = os.fork()
                if child:
                    self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
                    self.assertTrue(job.wait(exit=True, timeout=0).running)
                    self.assertEqual(client.run("echo on").stdout, "on\n")
            if not child:
                os._exit(0)

        in_fork(leave)

    def test_no_descriptor_left(self):
        """The hook closes the pipes if it can open nothing in their place."""

        def check():
            pipes = client._async._connection.pipes
            with mock.patch("os.open", side_effect=OSError):
                in_fork(lambda: self.assertTrue(all(pipe.closed for pipe in pipes)))

        with connect() as client:
            check()
            self.assertTrue(client.run("true").ok)


class Blocking(unittest.TestCase):
    def test_threads_and_descriptors(self):
        with connect() as client:
            client.run("true")
        before = threading.active_count(), descriptors()
        for _ in range(5):
            with connect() as client, client.start("seq 100000; sleep 1000") as job:
                for line in job.lines():
                    if line == "10":
                        break
                lines = job.lines()
                self.assertEqual(next(lines), "1")
                lines.close()
        for thread in threading.enumerate():
            if thread.name.startswith("waitpid-"):  # asyncio's, which has reported the server's end, and ends now
                thread.join(WATCHDOG_S)
        self.assertEqual((threading.active_count(), descriptors()), before)

    def test_several_threads(self):
        with connect() as client:
            results = []
            threads = [threading.Thread(target=lambda n=n: results.append(client.run(["echo", str(n)]).stdout)) for n in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(results, key=int), ["%d\n" % n for n in range(20)])


if __name__ == "__main__":
    unittest.main()
