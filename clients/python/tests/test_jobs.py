"""What the methods of a server and of its jobs do, against the real server."""
import asyncio
import contextlib
import os
import pathlib
import re
import socket
import tempfile
import unittest
from unittest import mock

from .support import WATCHDOG_S, logged, marker, needs_linux, processes, settle, wait_until_gone

import shelld
from shelld import connect
from shelld._results import answer_of


class Run(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.shelld = await connect()

    async def asyncTearDown(self):
        await self.shelld.close()

    async def test_exit_code_is_no_error(self):
        result = await self.shelld.run("echo out; echo err >&2; exit 3")
        self.assertEqual((result.exit_code, result.stdout, result.stderr, result.ok), (3, "out\n", "err\n", False))
        self.assertTrue((await self.shelld.run("true", check=True)).ok)

    async def test_check(self):
        with self.assertRaises(shelld.ExitError) as caught:
            await self.shelld.run("echo oh no >&2; exit 3", check=True)
        self.assertIn("exit code 3: oh no", str(caught.exception))
        self.assertEqual(caught.exception.result.exit_code, 3)
        with self.assertRaises(shelld.ExitError) as caught:
            await self.shelld.run("kill -KILL $$", check=True)
        self.assertIn("was ended by SIGKILL", str(caught.exception))
        with self.assertRaises(shelld.ExitError) as caught:
            await self.shelld.run("ehco hi", check=True)
        self.assertIn("did you mean", str(caught.exception))

    async def test_ended_with_0(self):
        """A command that was ended is not ok, also if it has handled that."""
        result = await self.shelld.run("trap 'exit 0' TERM; while :; do sleep 0.01; done", killAfterMs=200)
        self.assertEqual((result.exit_code, result.ok), (0, False))
        with self.assertRaises(shelld.ExitError) as caught:
            await self.shelld.run("trap 'exit 0' TERM; while :; do sleep 0.01; done", killAfterMs=200, check=True)
        self.assertIn("did not end in time", str(caught.exception))
        async with self.shelld.shell() as bash:
            await bash.exec("true", check=True)  # the shell has begun
            result = await bash.exec("(trap 'exit 0' INT; while :; do sleep 0.01; done)", timeout=2)
            self.assertEqual((result.exit_code, result.ok), (0, False))

    async def test_argv(self):
        result = await self.shelld.run(["printf", "%s|", "a b", "$(id)", "'"])
        self.assertEqual(result.stdout, "a b|$(id)|'|")
        with self.assertRaises(shelld.RequestError) as caught:
            await self.shelld.run(["no-such-program"])
        self.assertEqual(caught.exception.kind, "commandNotFound")

    async def test_paths(self):
        home, program = pathlib.Path("/"), pathlib.Path("/bin/pwd")
        self.assertEqual((await self.shelld.run([program, "-P"], cwd=home)).stdout, "/\n")
        async with self.shelld.start(["cat", pathlib.Path("/dev/null"), "-"], mode="pipe", stdin={"file": pathlib.Path(__file__)}) as job:
            self.assertIn("import asyncio", [line async for line in job.lines()])
        async with connect(rootDirectory=home) as other:
            self.assertEqual((await other.run("pwd")).stdout, "/\n")

    async def test_no_command(self):
        for command in (b"ls", pathlib.Path("/bin/ls")):
            for call in (self.shelld.run, self.shelld.start(command)._start):
                with self.assertRaisesRegex(TypeError, "a list, a program and its arguments"):
                    await (call(command) if call == self.shelld.run else call())
        with self.assertRaisesRegex(TypeError, "a message cannot have b'/', a bytes"):
            await self.shelld.run(["ls", b"/"])

    @needs_linux
    async def test_background(self):
        result = await self.shelld.run("true")
        self.assertFalse(result.background)
        command = marker()
        result = await self.shelld.run(f"{command} > /dev/null 2>&1 & echo begun")
        self.assertEqual((result.stdout, result.ok, result.background), ("begun\n", True, True))
        report = await (await self.shelld.job(result.job)).kill()
        self.assertEqual((len(report["killed"]), processes(command)), (1, []))

    async def test_options(self):
        result = await self.shelld.run("pwd; echo $A", cwd="/", env={"A": "1"}, mode="pty")
        self.assertEqual(result.stdout, "/\n1\n")

    async def test_long_answer(self):
        """One line of a megabyte: the default limit of a StreamReader is 64 KiB."""
        result = await self.shelld.run("head -c 1000000 /dev/zero | tr '\\0' x")
        self.assertEqual(result.stdout, "x" * 1000000)
        self.assertFalse(result.truncated)
        self.assertTrue((await self.shelld.run("head -c 3000000 /dev/zero | tr '\\0' x")).truncated)

    @needs_linux
    async def test_timeout_ends_the_tree(self):
        command = marker()
        result = await self.shelld.run(f"setsid {command} & {command}", timeout=0.3)
        self.assertTrue(result.timed_out)
        self.assertEqual(result.raw["exit"]["reason"], "timeout")
        wait_until_gone(*processes(command))

    @needs_linux
    async def test_cancel_ends_the_tree(self):
        command = marker()
        events = self.shelld.events()
        running = asyncio.ensure_future(self.shelld.run(f"setsid {command} & echo ready; {command}", events=["output", "closed"]))
        self.assertEqual((await events.__anext__())["params"]["text"], "ready\n")
        running.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await running
        self.assertEqual((await events.__anext__())["method"], "job/closed")
        self.assertEqual(processes(command), [])

    @needs_linux
    async def test_wait_for(self):
        command = marker()
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.shelld.run(command), 0.2)
        wait_until_gone(*processes(command))

    async def test_any_request(self):
        await self.shelld.request("env/set", {"name": "A", "value": "x"})
        self.assertEqual((await self.shelld.request("env/get", {"name": "A"}))["value"], "x")
        self.assertEqual((await self.shelld.request("job/list"))["jobs"], [])
        with self.assertRaises(shelld.RequestError) as caught:
            await self.shelld.request("job/get", {"handle": 99})
        self.assertEqual((caught.exception.kind, caught.exception.code), ("jobNotFound", -32010))

    async def test_server(self):
        self.assertEqual(self.shelld.server["serverInfo"]["name"], "shelld")
        async with connect(options={"limits": {"maxJobs": 1}}) as other:
            self.assertEqual(other.server["limits"]["maxJobs"], 1)


@needs_linux
class Jobs(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.shelld = await connect()

    async def asyncTearDown(self):
        await self.shelld.close()

    async def test_block_ends_the_tree(self):
        command = marker()
        for failure in (None, ValueError):
            with contextlib.suppress(ValueError):
                async with self.shelld.start(f"trap '' TERM; setsid {command} & echo ready; {command}; wait") as job:
                    await job.wait(pattern="ready")
                    if failure:
                        raise failure
            self.assertEqual(processes(command), [])
            self.assertEqual((await self.shelld.request("job/list", {"live": True}))["jobs"], [])
        await job.close()

    async def test_server_block_ends_all(self):
        command = marker()
        async with connect() as other:
            job = await other.start(f"echo ready; {command}; true")
            await job.wait(pattern="ready")
            server = other.pid
        self.assertEqual(processes(command), [])
        wait_until_gone(server)

    async def test_start_cancelled(self):
        command = marker()
        for turns in range(20):
            starting = asyncio.ensure_future(self.shelld.start([*command.split()])._start())
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await starting).close()
        await settle(self.shelld)
        for job in (await self.shelld.request("job/list", {"live": True}))["jobs"]:
            await self.shelld.request("job/wait", {"handle": job["handle"], "until": [{"closed": True}]})
        self.assertEqual(processes(command), [])

    async def test_start_cancelled_as_the_answer_comes(self):
        """In the same turn of the loop, just before the answer and just after it."""
        command = marker()
        connection = self.shelld._connection
        take = connection._take_answer
        for cancel_first in (True, False):
            starting = asyncio.ensure_future(self.shelld.start(command)._start())

            def taken(message):
                if cancel_first:
                    starting.cancel()
                take(message)
                starting.cancel()

            with mock.patch.object(connection, "_take_answer", taken):
                with self.assertRaises(asyncio.CancelledError):
                    await starting
            await settle(self.shelld)
            self.assertEqual((await self.shelld.request("job/list", {"live": True}))["jobs"], [])
            self.assertEqual((processes(command), connection._late), ([], {}))

    async def test_start_in_a_task(self):
        tasks = [asyncio.create_task(self.shelld.start("echo hi")), asyncio.ensure_future(self.shelld.shell())]
        for task in tasks:
            async with await task as job:
                self.assertIsInstance(job, shelld.AsyncJob)
        one, other = await asyncio.gather(self.shelld.start("true"), asyncio.wait_for(self.shelld.start("true"), WATCHDOG_S))
        self.assertEqual(other.handle, one.handle + 1)
        command = marker()
        for turns in range(5):
            task = asyncio.create_task(self.shelld.start(command))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        await settle(self.shelld)
        for job in (await self.shelld.request("job/list", {"live": True}))["jobs"]:
            await self.shelld.request("job/wait", {"handle": job["handle"], "until": [{"closed": True}]})
        self.assertEqual(processes(command), [])

    async def test_start_that_is_never_awaited(self):
        starting = self.shelld.start("true")
        starting.close()
        with self.assertRaises(ValueError):
            starting.throw(ValueError())

    async def test_wait(self):
        job = await self.shelld.start("echo Ready in 5 ms; read x; read y", name="waits")
        answer = await job.wait(pattern=re.compile("^ready in (.*) ms", re.I | re.M))
        self.assertEqual((answer.reason, answer.match["groups"]), ("pattern", ["5"]))
        self.assertEqual((await job.wait(quiet=0.05)).reason, "quietMs")
        self.assertEqual((await job.wait(bytes=6, from_="start")).reason, "bytes")
        self.assertTrue((await job.wait(pattern="never", timeout=0.05)).timed_out)
        self.assertTrue((await job.wait(input={"kinds": ["password"]}, timeout=0)).timed_out)
        self.assertEqual((await job.wait(input={"kinds": ["line", "raw"]})).reason, "input")
        again = await self.shelld.job("waits")
        self.assertEqual(again.handle, job.handle)
        await again.write("1", appendNewline=True)
        await job.press("2", "Enter")
        self.assertEqual((await job.exit())["code"], 0)
        self.assertEqual((await job.wait(closed=True)).reason, "closed")
        with self.assertRaises(shelld.RequestError) as caught:
            await job.write("x")
        self.assertEqual(caught.exception.kind, "jobExited")

    async def test_wait_cancelled(self):
        job = await self.shelld.start("sleep 1000")
        for _ in range(3):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(job.wait(pattern="never", timeout=None), 0.05)
        await settle(self.shelld)

    async def test_started(self):
        job = await self.shelld.start("echo hi", wait={"until": [{"exit": True}]})
        self.assertEqual(job.started.text, "hi\n")

    async def test_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            job = await self.shelld.start("sleep 1000")
            answer = await job.wait(port=port)
            self.assertEqual((answer.reason, answer.port, answer.match["pid"]), ("portInUse", port, os.getpid()))

    async def test_questions(self):
        async with self.shelld.start('read -p "Name? " n; read -p "Age? " a; echo "$n is $a"') as job:
            self.assertEqual((await job.question()).prompt, "Name?")
            answer = await job.answer("Ada")
            self.assertEqual((answer.prompt, answer.text), ("Age?", "Age? "))
            self.assertEqual(answer.offsets, {"pty": len("Name? Ada\r\nAge? ")})
            answer = await job.answer("36")
            self.assertIsNone(answer.question)
            self.assertEqual((answer.reason, answer.exit["code"], answer.text, answer.prompt), ("exit", 0, "Ada is 36\n", ""))

    async def test_question_that_nobody_has_seen(self):
        with tempfile.TemporaryDirectory() as cwd:
            line = 'read -p "one? " a; until [ -s go ]; do sleep 0.01; done; read -p "two? " b; read -p "three? " c; echo "$a,$b,$c"'
            async with self.shelld.start(line, cwd=cwd) as job:

                async def refused():
                    with self.assertRaises(shelld.RequestError) as caught:
                        await job.answer("never seen", timeout=0)
                    self.assertEqual((caught.exception.kind, caught.exception.code), ("inputNotExpected", -32023))
                    self.assertIn("call question() first, or use write()", str(caught.exception))

                self.assertTrue((await job.answer("1", timeout=0.05)).timed_out)  # the first one needs no question
                await refused()
                pathlib.Path(cwd, "go").write_text("go")
                await (await self.shelld.job(job.handle)).question()  # of another object
                await refused()
                await job.write("2\n")
                self.assertEqual((await job.question()).prompt, "three?")
                self.assertTrue((await job.wait(exit=True, timeout=0)).timed_out)  # the question was seen before it
                self.assertEqual((await job.answer("3")).text, "1,2,3\n")
                with self.assertRaises(shelld.RequestError) as caught:
                    await job.answer("4")
                self.assertEqual(caught.exception.kind, "jobExited")

    async def test_question_that_is_over(self):
        async with self.shelld.start('read -p "one? " a; read -p "two? " b; echo "$a,$b"') as job:
            await job.question()
            await job.write("1\n")
            with self.assertRaises(shelld.RequestError) as caught:
                await job.answer("1")
            self.assertEqual(caught.exception.kind, "inputNotExpected")
            await job.question()
            self.assertEqual((await job.answer("2")).text, "1,2\n")

    async def test_answer_counts_from(self):
        """A place from which output counts is no condition: the wait is for the next question all the same."""
        async with self.shelld.start("echo Ready; read x; read y") as job:
            await job.question()
            answer = await job.answer("1", from_="start", timeout=5)
            self.assertEqual((answer.reason, answer.text), ("input", "Ready\n"))

    async def test_answer_to_a_question_that_is_over(self):
        async with self.shelld.start("read x; read y; echo $x $y") as job:
            first = await job.question()
            await job.answer("1", ifWaiting=first.question["waitId"])
            with self.assertRaises(shelld.RequestError) as caught:
                await job.answer("2", ifWaiting=first.question["waitId"])
            self.assertEqual(caught.exception.kind, "inputNotExpected")

    async def test_kinds(self):
        async with self.shelld.start("read -s x; read y; read -s z; read e") as job:
            answer = await job.question(kinds=["password"])
            self.assertEqual(answer.question["kind"], "password")
            self.assertEqual((await job.answer("1", kinds=["line"])).question["kind"], "line")
            self.assertTrue((await job.answer("2", kinds=["line"], timeout=0.1)).timed_out)
            self.assertEqual((await job.wait(input={"kinds": ["password"]})).question["kind"], "password")

    async def test_end_of_an_answer(self):
        async with self.shelld.start("read x; kill -TERM $$", mode="pipe", stdin="open") as job:
            answer = await job.question()
            self.assertEqual((answer.running, answer.signal), (True, None))
            answer = await job.answer("")
            self.assertEqual((answer.running, answer.signal, answer.exit_code), (False, "SIGTERM", None))

    async def test_interrupt(self):
        for mode in ("pty", "pipe"):
            async with self.shelld.start("echo ready; sleep 1000; true", mode=mode) as job:
                await job.wait(pattern="ready")
                await job.interrupt()
                self.assertEqual((await job.wait(exit=True)).signal, "SIGINT")

    async def test_search(self):
        async with self.shelld.start("seq 30", mode="pipe") as job:
            await job.exit()
            found = await job.search("^2.$", maxMatches=3)
            self.assertEqual([match["line"] for match in found["matches"]], ["20", "21", "22"])
            self.assertEqual(len((await job.search(re.compile("^3", re.M)))["matches"]), 2)

    async def test_streams_of_an_answer(self):
        async with self.shelld.start("echo Name; echo warn >&2; read n; echo $n; exit 3", mode="pipe", stdin="open") as job:
            answer = await job.question()
            self.assertEqual((answer.stdout, answer.stderr, answer.text), ("Name\n", "warn\n", "warn\nName\n"))
            self.assertEqual((answer.exit_code, answer.timed_out, answer.truncated), (None, False, False))
            answer = await job.answer("Ada")
            self.assertEqual((answer.stdout, answer.stderr, answer.exit_code), ("Ada\n", "", 3))
        async with self.shelld.start("echo out; echo err >&2; kill -KILL $$") as job:
            answer = await job.question()
            self.assertEqual((answer.stdout, answer.stderr, answer.exit_code), ("out\nerr\n", "", None))
        async with self.shelld.start("echo begun; sleep 1000", mode="pipe") as job:
            await job.wait(pattern="begun\n")
            answer = await job.question(0.05)
            self.assertEqual((answer.stdout, answer.exit_code, answer.timed_out), ("", None, True))

    async def test_truncated_answer(self):
        """stderr alone is longer than the limit."""
        async with self.shelld.start("echo 1; seq 20000 >&2; read x; seq 20000", mode="pipe", stdin="open") as job:
            answer = await job.question()
            self.assertEqual((answer.truncated, answer.stdout), (True, "1\n"))
            self.assertLess(len(answer.stderr), 17000)
            whole = "".join(f"{number}\n" for number in range(1, 20001))
            answer = await job.wait(input=True, from_="start", maxBytes=len(whole))
            self.assertEqual((answer.truncated, answer.stderr), (False, whole))
            answer = await job.answer("", maxBytes=len(whole))
            self.assertEqual((answer.truncated, answer.stdout), (False, whole))
        async with self.shelld.start("echo 1; echo 2") as job:
            self.assertTrue((await job.question(maxBytes=2)).truncated)

    async def test_no_question(self):
        """The job's state may have a waitingForInput that says that it does not wait."""
        job = {"waitingForInput": {"waiting": False, "why": "it computes"}}
        answer = answer_of({"reason": "timeout", "index": None, "output": {}, "job": job})
        self.assertEqual((answer.question, answer.prompt), (None, ""))

    async def test_exec(self):
        async with self.shelld.shell() as bash:
            await bash.exec("cd / && A=1", check=True)
            result = await bash.exec("echo $A; false")
            self.assertEqual((result.output, result.exit_code, result.cwd, result.ok), ("1\n", 1, "/", False))
            with self.assertRaises(shelld.ExitError) as caught:
                await bash.exec("false", check=True)
            self.assertIn("exit code 1", str(caught.exception))
            result = await bash.exec("sleep 1000", timeout=0.2)
            self.assertTrue(result.timed_out and result.finished)
            running = asyncio.ensure_future(bash.exec("sleep 2000"))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(running, 0.2)
            self.assertEqual((await bash.exec("echo $A")).output, "1\n")

    async def test_exec_output(self):
        async with self.shelld.shell() as bash:
            result = await bash.exec("seq 20000")
            self.assertTrue(result.truncated)
            whole = "".join(f"{number}\n" for number in range(1, 20001))
            result = await bash.exec("seq 20000", maxBytes=len(whole))
            self.assertEqual((result.truncated, result.output), (False, whole))
            self.assertTrue((await bash.exec("seq 20", wait={"maxBytes": 1000}, maxBytes=10)).truncated)

    async def test_exec_asks(self):
        async with self.shelld.shell() as bash:
            result = await bash.exec('read -p "Name? " n', input=True, check=True)
            self.assertEqual((result.question["prompt"], result.finished, result.ran, result.exit_code), ("Name?", False, True, None))
            with self.assertRaises(shelld.RequestError) as caught:
                await bash.exec("true", ifBusy="fail")
            self.assertEqual(caught.exception.kind, "shellBusy")
            with self.assertRaises(shelld.ExitError) as caught:
                await bash.exec("true", timeout=0.05, check=True)
            self.assertIn("did not begin in time", str(caught.exception))
            result = caught.exception.result
            self.assertEqual((result.ran, result.timed_out, result.question), (False, True, None))
            await bash.answer("Ada", command=1)
            result = await bash.exec("echo $n", input=True)
            self.assertEqual((result.output, result.question, result.ran), ("Ada\n", None, True))

    async def test_exec_ends_the_shell(self):
        async with self.shelld.shell() as bash:
            result = await bash.exec("exit 7")
            self.assertEqual((result.exit_code, result.finished, result.ran, result.cwd), (7, True, True, None))

    async def test_screen(self):
        async with self.shelld.start("printf '\\033]0;title\\007\\033[1mbold\\033[0m'; read x", cols=20, rows=4) as job:
            await job.question()
            screen = await job.screen()
            self.assertEqual((screen.lines[0], screen.cursor, screen.cols, screen.title), ("bold", (0, 4), 20, "title"))
            self.assertTrue((await job.screenshot()).startswith(b"\x89PNG\r\n"))
            await job.resize(40, 5)
            self.assertEqual((await job.screen()).cols, 40)

    async def test_signal_and_kill(self):
        job = await self.shelld.start("trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done")
        await job.wait(pattern="ready")
        await job.signal("INT")
        self.assertEqual((await job.wait(pattern="caught")).reason, "pattern")
        report = await job.kill(grace=1)
        self.assertEqual(report["survivors"], [])
        self.assertTrue((await job.kill())["alreadyClosed"])

    async def test_events(self):
        events = self.shelld.events()
        job = await self.shelld.start("echo 1; sleep 0.1; echo 2", mode="pipe", events=["started", "output", "exited", "closed"])
        text, methods = "", []
        async for event in events:
            methods.append(event["method"])
            if event["method"] == "job/output":
                text += event["params"]["text"]
            if event["method"] == "job/closed":
                break
        self.assertEqual((text, methods[0], methods[-2:]), ("1\n2\n", "job/started", ["job/exited", "job/closed"]))
        self.assertEqual([line async for line in job.lines()], ["1", "2"])


class Questions(unittest.IsolatedAsyncioTestCase):
    ASKS = 'read -s -p "Password: " p; echo; echo "got ${#p}"'

    async def got(self, secret):
        async with connect(secret=secret) as client, client.start(self.ASKS) as job:
            return (await job.wait(exit=True)).text

    async def test_secret(self):
        asked = []

        def function(ask):
            asked.append(ask["prompt"])
            return "hunter2"

        async def coroutine(ask):
            await asyncio.sleep(0)
            return function(ask)

        for secret in (function, coroutine):
            self.assertIn("got 7", await self.got(secret))
        self.assertEqual(asked, ["Password:"] * 2)

    async def test_no_secret(self):
        """Without a value, and if the callback throws, the program goes on waiting."""

        def throws(ask):
            raise ValueError("hunter2")

        for secret in (lambda ask: None, throws):
            asked = asyncio.Event()
            loop = asyncio.get_running_loop()

            def watched(ask):
                loop.call_soon_threadsafe(asked.set)
                return secret(ask)

            with logged() as records:
                async with connect(secret=watched, options={"secretInput": "any"}) as client, client.start(self.ASKS) as job:
                    await asked.wait()
                    self.assertTrue((await job.wait(exit=True, timeout=0.2)).timed_out)
                    self.assertIn("got 3", (await job.answer("abc")).text)
                if secret is throws:
                    self.assertIn("callback for client/secret", records.get(timeout=WATCHDOG_S).getMessage())

    async def test_passwords_are_the_persons(self):
        """What asks for a password is no question for the caller, and takes nothing of it."""
        asked, typed = asyncio.Event(), asyncio.Event()

        async def secret(ask):
            asked.set()
            await typed.wait()
            return "hunter2"

        async with connect(secret=secret) as client:
            script = 'read -p "Name? " n; ' + self.ASKS + '; read -p "Go on? " g'
            async with client.start(script) as job, client.shell() as bash:
                self.assertEqual((await job.question()).prompt, "Name?")
                answering = asyncio.ensure_future(job.answer("Ada"))
                await asked.wait()
                with self.assertRaises(shelld.RequestError) as caught:
                    await job.write("guess", appendNewline=True)
                self.assertEqual((caught.exception.kind, caught.exception.data["reason"]), ("policyDenied", "secretInput"))
                self.assertTrue((await job.question(0.1)).timed_out)
                self.assertEqual((await job.question(kinds=["password"])).prompt, "Password:")
                executing = asyncio.ensure_future(bash.exec('read -s p; read -p "Sure? " s', input=True))
                typed.set()
                answer = await answering
                self.assertEqual((answer.prompt, answer.question["kind"]), ("Go on?", "line"))
                self.assertIn("got 7", answer.text)
                self.assertEqual((await executing).question["prompt"], "Sure?")

    async def test_interrupt_of_a_password(self):
        async with connect(secret=lambda ask: None) as client, client.start(self.ASKS) as job:
            await job.question(kinds=["password"])
            await job.interrupt()
            self.assertEqual((await job.wait(exit=True)).signal, "SIGINT")

    async def test_no_answer(self):
        """Whatever a callback does, its question is answered: the request that waits for it ends."""

        def exits(ask):
            raise SystemExit

        def stops(ask):
            raise StopIteration

        async def exits_in_the_loop(ask):
            raise SystemExit

        async def cancels_itself(ask):
            raise asyncio.CancelledError

        for confirm in (exits, stops, exits_in_the_loop, cancels_itself, lambda ask: b"once", lambda ask: float("nan")):
            with logged():
                async with connect(confirm=confirm) as client:
                    with self.assertRaises(shelld.RequestError) as caught:
                        await asyncio.wait_for(client.run("true"), WATCHDOG_S)
                    self.assertEqual(caught.exception.kind, "confirmationDenied")
                    self.assertEqual(client._connection._questions, {})

    async def test_withdrawn(self):
        """The program is ended while a person is asked."""
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def secret(ask):
            try:
                asked.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        async with connect(secret=secret) as client:
            async with client.start(self.ASKS):
                await asked.wait()
            await asyncio.wait_for(cancelled.wait(), WATCHDOG_S)
            self.assertEqual(client._connection._questions, {})

    async def test_confirm(self):
        def confirm(ask):
            if ask["command"] == "throw":
                raise ValueError
            return "once" if ask["command"] == "echo yes" else "deny"

        with logged() as records:
            async with connect(confirm=confirm) as client:
                self.assertEqual((await client.run("echo yes")).stdout, "yes\n")
                for command in ("echo no", "throw"):
                    with self.assertRaises(shelld.RequestError) as caught:
                        await client.run(command)
                    self.assertEqual(caught.exception.kind, "confirmationDenied")
            self.assertIn("client/confirm", records.get(timeout=WATCHDOG_S).getMessage())

    async def test_log(self):
        def throws(text):
            raise ValueError

        logs = []
        for log in (logs.append, throws):
            with logged() as records:
                async with connect(args=["serve", "-log", "debug"], log=log) as client:
                    await client.run("true")
        self.assertTrue(logs)
        self.assertIn("callback log", records.get(timeout=WATCHDOG_S).getMessage())


if __name__ == "__main__":
    unittest.main()
