"""Programs that are no good server, by the name of what they do: fake_server.py NAME"""
import json
import sys
import time

INITIALIZED = {"protocolVersion": "1", "serverInfo": {"name": "fake", "version": "9", "unknown": True}, "unknown": [1]}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def initialize():
    send(id=receive()["id"], result=INITIALIZED)


def silent():
    sys.stdin.read()


def deaf():
    """Does not even end with its input."""
    time.sleep(3600)


def echo():
    for line in sys.stdin:
        sys.stdout.write(line)
        sys.stdout.flush()


def chatty():
    print("Welcome!", flush=True)
    sys.stdin.read()


def gone():
    print("no such thing as a state directory", file=sys.stderr)
    sys.exit(3)


def old():
    request = receive()
    error = {"code": -32033, "message": "not spoken", "data": {"kind": "unsupportedVersion", "supported": ["0"]}}
    send(id=request["id"], error=error)
    sys.stdin.read()


def new():
    send(id=receive()["id"], result={**INITIALIZED, "protocolVersion": "2"})
    sys.stdin.read()


def other():
    send(id=receive()["id"], result={})
    sys.stdin.read()


def newer_members():
    """Speaks this version, with members, events and requests of a later one."""
    initialize()
    send(method="job/invented", params={"handle": 1, "unknown": {}})
    send(id="q1", method="client/invented", params={})
    reply, request = sorted((receive(), receive()), key=lambda message: "method" in message)
    assert reply["id"] == "q1" and reply["error"]["code"] == -32601, reply
    end = {"code": 0, "signal": None, "coreDumped": False, "reason": "exited", "unknown": 1}
    send(id=request["id"], result={"exit": end, "timedOut": False, "stdout": "fine", "unknown": 2}, unknown=3)
    send(id=receive()["id"], result={})


def garbage():
    initialize()
    receive()
    print("debug: got a request", flush=True)
    sys.stdin.read()


def endless():
    initialize()
    receive()
    print('{"id": [', flush=True)
    sys.stdin.read()


def dies():
    initialize()
    receive()
    receive()
    print("panic: something is nil", file=sys.stderr)
    sys.exit(2)


def closes_output():
    """Goes on without its stdout."""
    initialize()
    receive()
    sys.stdout.flush()
    import os

    os.close(1)
    time.sleep(3600)


globals()[sys.argv[1]]()
