"""What is cancelled, left or killed leaves nothing behind."""
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import unittest

from .support import WATCHDOG_S, descriptors, environment, marker, needs_linux, processes, settle, wait_until_gone

from shelld import AsyncJob, connect

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
