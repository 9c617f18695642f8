package inputwait_test

import "testing"

// A source by which a program wakes itself up may be triggered by another process of the job that also has it open.
func TestSharedSources(t *testing.T) {
	for _, test := range []struct{ name, code string }{
		{"both ends of a pipe", "r, w = os.pipe(); fork(); select.select([0, r], [], [])"},
		{"a pipe that a program prints to", "r, w = os.pipe(); subprocess.Popen(['sleep', '60'], stdout=w); select.select([0, r], [], [])"},
		{"both ends of a pipe, and the child waits", "r, w = os.pipe(); child(lambda: select.select([0, r], [], [])); time.sleep(60)"},
		{"a pair of sockets", "a, b = socket.socketpair(); fork(); select.select([0, a], [], [])"},
		{"one of a pair of sockets", "a, b = socket.socketpair(); subprocess.Popen(['sleep', '60'], stdout=b); select.select([0, a], [], [])"},
		{"an eventfd", "f = os.eventfd(0); fork(); select.select([0, f], [], [])"},
		{"in an epoll", "f = os.eventfd(0); fork(); e = select.epoll(); e.register(0, 1); e.register(f, 1); e.poll()"},
		{"for some seconds", "f = os.eventfd(0); fork(); select.select([0, f], [], [], 20)"},
		{"a queue", "q = multiprocessing.get_context('fork').Queue(); child(lambda: (time.sleep(60), q.put(1))); multiprocessing.connection.wait([0, q._reader])"},
		{"another thread waits for it", "f = os.eventfd(0); fork(); threading.Thread(target=os.read, args=(f, 8)).start(); sys.stdin.readline()"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, "python3", "-u", "-c", sharing+test.code).waits("ready", listening, line, likely)
		})
	}
}

// Other processes have such sources of their own.
func TestUnsharedSources(t *testing.T) {
	for _, test := range []struct{ name, code string }{
		{"eventfds", "child(lambda: (os.eventfd(0), time.sleep(60))); f = os.eventfd(0); select.select([0, f], [], [])"},
		{"a pipe", "child(lambda: (os.pipe(), time.sleep(60))); r, w = os.pipe(); select.select([0, r], [], [])"},
		{"closed by the program that was started", "r, w = os.pipe(); a, b = socket.socketpair(); subprocess.Popen(['sleep', '60']); select.select([0, r, a], [], [])"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, "python3", "-u", "-c", sharing+test.code).waits("ready", reading, line, exact)
		})
	}
}

// The child has reached its final state before its parent goes on.
const sharing = `
import multiprocessing, multiprocessing.connection, os, select, socket, subprocess, sys, threading, time
print('ready')
def child(f):
    if os.fork() == 0: f(); os._exit(0)
def fork(): child(lambda: time.sleep(60))
`
