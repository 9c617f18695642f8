"""Drives shelld from asyncio: long answers, several requests at once, a notification, a cancelled request."""
import asyncio
import itertools
import json

from shelld_client import ShelldError, server_command

# StreamReader.readline() takes no line over 64 KiB unless it is told to, and an answer may be longer: up to
# maxMessageBytes of initialize (16 MiB by default), and a line feed.
LONGEST_LINE = (16 << 20) + 1


class AsyncClient:
    """A running server, one JSON object per line. Use it with "async with"."""

    def __init__(self, command):
        self._command = command
        self._ids = itertools.count(1)
        self._pending = {}  # request id -> the Future of its answer
        self.notifications = asyncio.Queue()  # (method, params) in the order sent

    async def __aenter__(self):
        self._server = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE)
        self._reader = asyncio.ensure_future(self._read())
        self.server = await self.request("initialize", clientInfo={"name": "shelld-asyncio-example"})
        self._send({"method": "initialized"})
        return self

    async def __aexit__(self, failure, *_):
        if failure is None:
            await self.request("shutdown")
            self._send({"method": "exit"})
        self._server.stdin.close()  # the end of its input ends the server, and every job, as well
        status = await self._server.wait()
        await self._reader
        if failure is None and status != 0:
            raise ConnectionError("the server ended with status %d" % status)

    async def request(self, method, **params):
        """Sends a request and returns its result. Cancelling the task that awaits it cancels the request."""
        if self._reader.done():
            raise ConnectionError("the server has ended")
        request_id = next(self._ids)
        answer = self._pending[request_id] = asyncio.get_running_loop().create_future()
        self._send({"id": request_id, "method": method, "params": params})
        await self._server.stdin.drain()  # waits while the server does not read
        try:
            return await answer
        except asyncio.CancelledError:
            if request_id in self._pending:
                self._send({"method": "$/cancelRequest", "params": {"id": request_id}})
            raise

    def _send(self, message):
        self._server.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())

    async def _read(self):
        failure = ConnectionError("the server ended before it answered")
        try:
            while True:
                line = await self._server.stdout.readline()
                if not line:
                    break
                self._take(json.loads(line))
        except Exception as err:  # without this, a request would wait forever
            failure = err
            raise
        finally:
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_exception(failure)

    def _take(self, message):
        if "method" in message and "id" in message:
            self._send({"id": message["id"], "error": {"code": -32601, "message": "this client answers nothing"}})
        elif "method" in message:
            self.notifications.put_nowait((message["method"], message["params"]))
        else:
            answer = self._pending.pop(message["id"])
            if answer.done():
                pass  # the task that awaited it was cancelled
            elif "error" in message:
                answer.set_exception(ShelldError(message["error"]))
            else:
                answer.set_result(message["result"])


async def next_notification(shelld, method):
    while True:
        name, params = await shelld.notifications.get()
        if name == method:
            return params


async def main():
    async with AsyncClient(server_command()) as shelld:
        print("Running three commands at once.")
        texts = await asyncio.gather(*[shelld.request("job/run", argv=["echo", word]) for word in ("one", "two", "three")])
        assert [r["stdout"] for r in texts] == ["one\n", "two\n", "three\n"], texts

        print("Running one whose answer is longer than 64 KiB.")
        result = await shelld.request("job/run", argv=["seq", "100000"], maxBytes=1 << 20)
        assert result["stdout"] == "".join("%d\n" % n for n in range(1, 100001))
        result = await shelld.request("job/run", argv=["seq", "100000"])
        # Of more than maxBytes head and tail are kept; the line between them says so.
        print(result["truncated"]["stdout"]["mark"]["text"], end="")
        assert result["stdout"].startswith("1\n2\n") and result["stdout"].endswith("\n99999\n100000\n")
        assert result["truncated"]["stdout"]["mark"]["text"] in result["stdout"]

        print("Giving up a command, which ends it.")
        # A job/run sends no events while it is awaited, unless it asks for some.
        sleeping = asyncio.ensure_future(shelld.request("job/run", argv=["sleep", "1000"], events=["started", "closed"]))
        started = await next_notification(shelld, "job/started")
        sleeping.cancel()
        ended = await next_notification(shelld, "job/closed")
        assert ended["handle"] == started["handle"], ended
        still = await shelld.request("job/list", live=True)
        assert still["jobs"] == [], still
    print("The server ended with status 0.")


asyncio.run(main())
