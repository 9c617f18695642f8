"""A small client for shelld: a server as a child process, one JSON object per line.

    with Client(["shelld"]) as shelld:
        print(shelld.request("job/run", command="echo hi")["stdout"])

The server asks something, too, of a client that says it can answer (see secret.py, confirm.py):

    Client(["shelld"], capabilities={"secret": True},
           answers={"client/secret": lambda params: {"value": getpass.getpass(params["prompt"])}})

Other params of initialize are given by their names:

    Client(["shelld"], rootDirectory="/src", allowedDirectories=["/src"], options={"denyCommands": ["rm"]})
"""
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import Future

# Bounds how long a broken server can hold us up. It is longer than the 30 s after which the
# server itself gives up a wait (timeoutMs) and says so.
WATCHDOG_S = 60


class ShelldError(Exception):
    """An error answer. Its kind is the stable name to test for, such as "jobNotFound"."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data", {})
        self.kind = self.data.get("kind")


class Client:
    """A running server. Requests may be sent from any thread, several at a time."""

    def __init__(self, command, answers=None, withdrawn=None, watchdog=WATCHDOG_S, **initialize):
        """answers: by method, a function from the params of a request of the server's to its result.

        Each runs in a thread of its own, since a person may take long, and may send requests.
        withdrawn: called with the params of such a request that the server takes back, so that
        nobody goes on answering it. It runs in the reading thread, and must not block.
        watchdog: for how many seconds at most an answer is waited for; None: as long as it takes.
        initialize: further params of initialize.
        """
        self._watchdog = watchdog
        self._answers = answers or {}
        self._withdrawn = withdrawn or (lambda params: None)
        self._asked = {}  # id -> params of the server's requests that are neither answered nor taken back
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids = itertools.count(1)
        self._pending = {}  # request id -> the Future of its answer
        self._writing = threading.Lock()  # one line at a time
        self._notifications = queue.Queue()  # (method, params) in the order sent; None, None at the end
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.server = self.request("initialize", **{"clientInfo": {"name": "shelld-python-example"}, **initialize})
        self.notify("initialized")

    def request(self, method, **params):
        """Sends a request and returns its result; raises ShelldError for an error answer."""
        return self.send(method, **params)[1].result(self._watchdog)

    def send(self, method, **params):
        """Sends a request and returns its id and the Future of its result."""
        request_id, answer = next(self._ids), Future()
        self._pending[request_id] = answer
        self._send({"id": request_id, "method": method, "params": params})
        return request_id, answer

    def notify(self, method, **params):
        self._send({"method": method, "params": params})

    def next_notification(self, method):
        """Waits for the next notification of this method and returns its params; drops others."""
        for name, params in iter(self.next_of_any, (None, None)):
            if name == method:
                return params
        raise ConnectionError("the server ended before it sent " + method)

    def next_of_any(self):
        """Waits for the next notification and returns its method and params; None, None at the end."""
        return self._notifications.get(timeout=WATCHDOG_S)

    def close(self):
        """Ends all jobs, then the server. Raises if the server did not end well."""
        self.request("shutdown")
        self.notify("exit")
        status = self._server.wait(WATCHDOG_S)
        if status != 0:
            raise ConnectionError("the server ended with status %d" % status)

    def _send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"  # dumps escapes line ends in text
        with self._writing:
            self._server.stdin.write(line.encode())
            self._server.stdin.flush()

    def _read(self):
        for line in self._server.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self._asked[message["id"]] = message.setdefault("params", {})
                threading.Thread(target=self._answer, args=(message,), daemon=True).start()
            elif message.get("method") == "$/cancelRequest":  # what it asked has no use any more
                taken_back = self._asked.pop(message["params"]["id"], None)
                if taken_back is not None:  # else the answer is on its way
                    self._withdrawn(taken_back)
            elif "method" in message:
                self._notifications.put((message["method"], message["params"]))
            elif "error" in message:
                self._pending.pop(message["id"]).set_exception(ShelldError(message["error"]))
            else:
                self._pending.pop(message["id"]).set_result(message["result"])
        self._notifications.put((None, None))
        for answer in list(self._pending.values()):
            answer.set_exception(ConnectionError("the server ended before it answered"))

    def _answer(self, request):
        answer = self._answers.get(request["method"])
        try:
            if answer is None:
                reply = {"error": {"code": -32601, "message": "this client does not answer " + request["method"]}}
            else:
                reply = {"result": answer(request["params"])}
        except Exception as failure:  # its text may hold what nobody is to see
            reply = {"error": {"code": -32603, "message": type(failure).__name__}}
        if self._asked.pop(request["id"], None) is not None:
            try:
                self._send({"id": request["id"], **reply})
            except (OSError, ValueError):
                pass  # the server has ended meanwhile

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self.close()
        self._server.stdin.close()  # the end of its input ends the server, and every job, as well


def server_command():
    """The server to start: this script's arguments, else $SHELLD, else shelld on PATH."""
    return sys.argv[1:] or [os.environ.get("SHELLD", "shelld")]
