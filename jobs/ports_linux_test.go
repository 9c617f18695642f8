package jobs

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/ports"
)

// These tests run this program again as a server: "serve WORD… NETWORK ADDRESS".

func init() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2:]))
	}
}

// serve listens until its stdin ends. Words before the address: "later" waits first, like a server that must be built;
// "daemon" starts a process in a session of its own that does this, and ends when that listens; "silent" prints
// nothing.
func serve(args []string) int {
	words, where := args[:len(args)-2], args[len(args)-2:]
	if slices.Contains(words, "daemon") {
		cmd := exec.Command(os.Args[0], append([]string{"serve"}, where...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdin = os.Stdin
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
		return 0
	}
	if slices.Contains(words, "later") {
		time.Sleep(300 * time.Millisecond)
	}
	l, err := net.Listen(where[0], where[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if file := os.Getenv("LISTENS"); file != "" {
		_ = os.WriteFile(file, fmt.Append(nil, time.Now().UnixNano()), 0o600)
	}
	if !slices.Contains(words, "silent") {
		fmt.Println("port", l.Addr().(*net.TCPAddr).Port)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return 0
}

func server(words ...string) Spec {
	return Spec{Argv: append([]string{os.Args[0], "serve"}, words...), Mode: ModePipe, OpenStdin: true}
}

// freePort returns a port on which nothing listens at the moment.
func freePort(t testing.TB) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

func at(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

// startAwaiting starts a job and waits for the end of its wait.
func startAwaiting(t *testing.T, m *Manager, s Spec, c ...Condition) (*Job, Outcome) {
	t.Helper()
	s.Wait = &WaitSpec{Until: c, Timeout: time.Minute, MaxBytes: 1 << 10}
	j, p, err := m.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	return j, deref(t, must(t, p).Outcome)
}

func TestPort(t *testing.T) {
	if !slices.Contains(Conditions(), UntilPort) {
		t.Fatal("this system does not tell")
	}
	m := startReal(t, Options{})
	for _, c := range []struct {
		name, network, host, address string
		words                        []string
		any                          bool
	}{
		{"IPv4", "tcp4", "127.0.0.1", "127.0.0.1", nil, false},
		{"any address", "tcp4", "0.0.0.0", "0.0.0.0", nil, false},
		{"IPv6 alone", "tcp6", "::1", "::1", nil, false},
		{"both", "tcp", "::", "::", nil, false},
		{"later", "tcp4", "127.0.0.1", "127.0.0.1", []string{"later"}, false},
		{"in silence", "tcp4", "127.0.0.1", "127.0.0.1", []string{"later", "silent"}, false},
		{"any port", "tcp4", "127.0.0.1", "127.0.0.1", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.network == "tcp6" {
				if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
					t.Skip(err)
				} else {
					_ = l.Close()
				}
			}
			n := freePort(t)
			s := server(append(c.words, c.network, at(c.host, n))...)
			wanted := n
			if c.any {
				wanted = 0
			}
			j, o := startAwaiting(t, m, s, pattern("never"), port(wanted))
			want := Port{Port: int(n), Address: c.address, PID: must(t, j.Info()).PID}
			if o.Reason != "port" || o.Index != 1 || o.Port == nil || *o.Port != want {
				t.Errorf("%+v, %+v", o, o.Port)
			}
			if info := must(t, j.Info()); !slices.Equal(info.Ports, []Port{want}) || !slices.Equal(j.Published().Ports, info.Ports) {
				t.Errorf("ports %+v, and published %+v", info.Ports, j.Published().Ports)
			}
			again, _ := j.Wait(&WaitSpec{Until: []Condition{port(wanted)}}) // with a timeout of zero
			if o := must(t, again); o.Reason != "port" || *o.Port != want {
				t.Errorf("what holds already: %+v", o)
			}
			must(t, j.Kill(KillOptions{}))
			if info := must(t, j.Info()); info.Ports != nil {
				t.Errorf("after the end: %+v", info.Ports)
			}
			over, _ := j.Wait(&WaitSpec{Until: []Condition{port(wanted)}, Timeout: time.Minute})
			if o := must(t, over); o.Reason != "exit" {
				t.Errorf("after the end: %+v", o)
			}
		})
	}
}

// A daemon's port counts as long as the job lives. The leader's end ends a wait for another port.
func TestPortOfADaemon(t *testing.T) {
	m := startReal(t, Options{})
	n := freePort(t)
	j, o := startAwaiting(t, m, server("daemon", "tcp4", at("127.0.0.1", n)), port(n))
	if o.Reason != "port" || o.Port.PID == must(t, j.Info()).PID {
		t.Errorf("%+v, %+v", o, o.Port)
	}
	exit, _ := j.Wait(&WaitSpec{Until: []Condition{port(1)}, Timeout: time.Minute})
	if o := must(t, exit); o.Reason != "exit" {
		t.Errorf("another port: %+v", o)
	}
	want := []Port{{Port: int(n), Address: "127.0.0.1", PID: o.Port.PID}}
	if info := must(t, j.Info()); info.Status != StatusExited || !slices.Equal(info.Ports, want) || len(info.Background) != 1 {
		t.Errorf("%+v", info)
	}
	after, _ := j.Wait(&WaitSpec{Until: []Condition{port(n)}, Timeout: time.Minute})
	if o := must(t, after); o.Reason != "port" {
		t.Errorf("behind the leader: %+v", o)
	}
}

// If a process outside of the job has the port, when the wait is armed or later, the wait ends with portInUse.
func TestPortInUse(t *testing.T) {
	m := startReal(t, Options{})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := uint16(l.Addr().(*net.TCPAddr).Port)
	j, o := startAwaiting(t, m, sh("read x"), pattern("never"), port(0), port(n))
	if o.Reason != "portInUse" || o.Index != 2 || o.Port == nil || o.Port.PID != os.Getpid() || o.Port.Port != int(n) || o.Port.Address != "127.0.0.1" || !strings.HasPrefix(o.Port.Command, os.Args[0]) {
		t.Errorf("%+v, %+v", o, o.Port)
	}
	if info := must(t, j.Info()); info.Ports == nil || len(info.Ports) != 0 {
		t.Errorf("ports %+v", info.Ports)
	}
	later := freePort(t)
	w, _ := j.Wait(&WaitSpec{Until: []Condition{port(later)}, Timeout: time.Minute})
	second, err := net.Listen("tcp4", at("127.0.0.1", later))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if o := must(t, w); o.Reason != "portInUse" || o.Port.PID != os.Getpid() {
		t.Errorf("%+v, %+v", o, o.Port)
	}
	// If the job listens too, at another address, the port counts as the job's.
	k, o := startAwaiting(t, m, server("tcp4", at("127.0.0.2", n)), pattern("port"))
	w, _ = k.Wait(&WaitSpec{Until: []Condition{port(n)}, Timeout: time.Minute})
	if o = must(t, w); o.Reason != "port" || o.Port.Address != "127.0.0.2" {
		t.Errorf("%+v, %+v", o, o.Port)
	}
	// For another job, a job's server is a process outside of it.
	other, _ := j.Wait(&WaitSpec{Until: []Condition{port(n)}, Timeout: time.Minute})
	if o := must(t, other); o.Reason != "portInUse" {
		t.Errorf("%+v, %+v", o, o.Port)
	}
}

// A job may have a network namespace of its own, in which the server's ports are free.
func TestPortInItsOwnNetwork(t *testing.T) {
	if err := exec.Command("unshare", "-n", "true").Run(); err != nil {
		t.Skip("no network of its own can be had: ", err)
	}
	m := startReal(t, Options{})
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := uint16(l.Addr().(*net.TCPAddr).Port)
	s := server("later", "tcp4", at("0.0.0.0", n))
	s.Argv = append([]string{"unshare", "-n"}, s.Argv...)
	j, o := startAwaiting(t, m, s, pattern("port"))
	if o.Reason != "pattern" {
		t.Fatalf("%+v", o)
	}
	w, _ := j.Wait(&WaitSpec{Until: []Condition{port(n)}, Timeout: time.Minute})
	if o := must(t, w); o.Reason != "port" || o.Port.PID == os.Getpid() {
		t.Errorf("%+v, %+v", o, o.Port)
	}
}

// Without keepers, the processes of a job are searched for.
func TestPortWithoutKeepers(t *testing.T) {
	m := startReal(t, Options{WithoutKeepers: true})
	n := freePort(t)
	j, o := startAwaiting(t, m, server("tcp4", at("127.0.0.1", n)), port(n))
	if o.Reason != "port" {
		t.Errorf("%+v, %+v", o, o.Port)
	}
	if info := must(t, j.Info()); len(info.Ports) != 1 {
		t.Errorf("ports %+v", info.Ports)
	}
}

// BenchmarkPortDelay measures the time from listen(2) to the answer, for a server that prints that it listens, and for
// a silent one.
func BenchmarkPortDelay(b *testing.B) {
	for _, words := range [][]string{{}, {"silent"}} {
		b.Run(fmt.Sprint(len(words), " words"), func(b *testing.B) {
			m, err := NewManager(Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				m.Shutdown()
				_ = m.Close()
			}()
			file := b.TempDir() + "/since"
			var took []time.Duration
			for b.Loop() {
				n := freePort(b)
				s := server(append(append([]string{"later"}, words...), "tcp4", at("127.0.0.1", n))...)
				s.Wait, s.Env = &WaitSpec{Until: []Condition{port(n)}, Timeout: time.Minute}, map[string]*string{"LISTENS": &file}
				j, p, refused := m.Start(s)
				if refused != nil {
					b.Fatal(refused)
				}
				r := <-p.C
				now := time.Now().UnixNano()
				if r.Err != nil || r.Value.Outcome.Reason != "port" {
					b.Fatalf("%+v", r)
				}
				var since int64
				for since == 0 { // The program writes it after it has begun to listen.
					text, _ := os.ReadFile(file)
					since, _ = strconv.ParseInt(string(text), 10, 64)
				}
				_ = os.Remove(file)
				took = append(took, time.Duration(now-since))
				<-j.Kill(KillOptions{}).C
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
		})
	}
}

// BenchmarkPortLook measures a port probe of a job of some processes: one that finds nothing new, and a first one as
// for job/get.
func BenchmarkPortLook(b *testing.B) {
	m, err := NewManager(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		m.Shutdown()
		_ = m.Close()
	}()
	s := sh("sleep 1000 & sleep 1000 & sleep 1000 & exec \"$@\"")
	s.Command, s.Argv = nil, append([]string{"sh", "-c", *s.Command, "sh"}, server("tcp4", "127.0.0.1:0").Argv...)
	s.Mode, s.OpenStdin = ModePipe, true
	s.Wait = &WaitSpec{Until: []Condition{port(0)}, Timeout: time.Minute}
	j, p, refused := m.Start(s)
	if refused != nil {
		b.Fatal(refused)
	}
	if r := <-p.C; r.Err != nil || r.Value.Outcome.Reason != "port" {
		b.Fatalf("%+v", r)
	}
	look := func(b *testing.B, w func() *ports.Watch) {
		for b.Loop() {
			if f, ok := lookPorts(w(), j.proc, j.info.PID); !ok || len(f.Own) != 1 {
				b.Fatalf("%+v", f)
			}
		}
	}
	b.Run("again", func(b *testing.B) {
		w := new(ports.Watch)
		look(b, func() *ports.Watch { return w })
	})
	b.Run("first", func(b *testing.B) { look(b, func() *ports.Watch { return new(ports.Watch) }) })
}
