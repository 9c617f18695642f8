package jobs

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/ports"
)

// A fakePorts simulates the listeners of the system.
type fakePorts struct {
	takes time.Duration
	stuck chan struct{} // not nil: a probe waits for it

	mu    sync.Mutex
	began time.Time
	looks []time.Duration // the begin of each probe
	found ports.Found
}

// look is the probe. Only one goroutine at a time calls it.
func (p *fakePorts) look(*ports.Watch, process, int) (ports.Found, bool) {
	p.mu.Lock()
	p.looks = append(p.looks, time.Since(p.began))
	found := p.found
	p.mu.Unlock()
	time.Sleep(p.takes)
	if p.stuck != nil {
		<-p.stuck
	}
	return found, true
}

// say sets the listeners from now on.
func (p *fakePorts) say(f ports.Found) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = f
}

// anew returns the probes so far, and forgets them.
func (p *fakePorts) anew() (looks []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	looks, p.looks, p.began = p.looks, nil, time.Now()
	return looks
}

func fakeListener(port, pid int) ports.Listener {
	return ports.Listener{Port: port, Address: netip.IPv4Unspecified(), PID: pid}
}

func startFakePorts(t *testing.T) (*fakeJob, *fakePorts) {
	p := &fakePorts{began: time.Now()}
	return startFakeWith(t, &recorder{}, func(m *Manager) { m.system.lookPorts = p.look }), p
}

func port(n uint16) Condition { return Condition{Kind: UntilPort, Port: n} }

func awaitPort(t *testing.T, f *fakeJob, c ...Condition) Pending[Outcome] {
	t.Helper()
	s := until(c...)
	s.From = Origin{Kind: FromNow}
	p, err := f.Wait(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Probes follow each other closely after a wait is armed and after output, and are rare in silence. Without a wait for
// a port there are none.
func TestPortLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		must(t, awaitPort(t, f, Condition{Kind: UntilQuiet, Quiet: time.Second}))
		if looks := p.anew(); len(looks) != 0 {
			t.Errorf("looks that nobody wanted: %v", looks)
		}
		w := awaitPort(t, f, port(80))
		time.Sleep(3 * time.Second)
		want := []time.Duration{0, ms(1), ms(5), ms(15), ms(45), ms(105), ms(225), ms(325), ms(450)}
		looks := p.anew()
		if len(looks) < 12 || !slices.Equal(looks[:len(want)], want) {
			t.Errorf("looks at %v", looks)
		}
		if n := len(looks); looks[n-1]-looks[n-2] != slowTick {
			t.Errorf("the last looks are %v", looks[n-2:])
		}
		f.out.data <- []byte("x")
		time.Sleep(ms(20))
		if looks, want := p.anew(), []time.Duration{ms(1), ms(5), ms(15)}; !slices.Equal(looks, want) {
			t.Errorf("looks after output at %v, not %v", looks, want)
		}
		p.say(ports.Found{Own: []ports.Listener{fakeListener(80, 7)}})
		f.out.data <- []byte("x")
		if o := must(t, w); o.Reason != "port" || o.Index != 0 || deref(t, o.Port) != (Port{Port: 80, Address: "0.0.0.0", PID: 7}) {
			t.Errorf("%+v, %+v", o, o.Port)
		}
		p.anew()
		time.Sleep(time.Minute)
		if looks := p.anew(); len(looks) != 0 {
			t.Errorf("looks after the wait: %v", looks)
		}
		f.end()
	})
}

// If a wait that times out still waits for a port probe and an input probe, both run at the same time.
func TestLastLooksAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		l := &fakeLooker{sees: works, began: time.Now(), block: make(chan struct{})}
		f.turn(func() { f.looker = l })
		p.stuck = make(chan struct{})
		began := time.Now()
		s := until(port(80), Condition{Kind: UntilInput, Input: InputCondition{MinConfidence: "likely"}})
		s.From, s.Timeout = Origin{Kind: FromNow}, 0
		w, err := f.Wait(s)
		if err != nil {
			t.Fatal(err)
		}
		if o := must(t, w); o.Reason != "timeout" || time.Since(began) != firstLook {
			t.Errorf("%s after %v, want a timeout after %v", o.Reason, time.Since(began), firstLook)
		}
		close(p.stuck)
		close(l.block)
		f.end()
	})
}

// If probes take long and output never pauses, probes take only a small part of the time.
func TestPortLooksCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		p.takes = ms(10)
		w := awaitPort(t, f, port(80))
		for range 1000 {
			f.out.data <- []byte("x")
			time.Sleep(ms(2))
		}
		if looks := p.anew(); len(looks) < 8 || len(looks) > 2000/200+2 {
			t.Errorf("%d looks in 2 s of output: %v", len(looks), looks)
		}
		w.Cancel()
		refused(t, w, CodeCanceled)
		f.end()
	})
}

// If several conditions hold, the first one counts, and all count before the leader's end and the timeout, however long
// ago the last probe was.
func TestPortOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		own, other := []ports.Listener{fakeListener(80, 7)}, []ports.Listener{fakeListener(90, 0)}
		quiet := Condition{Kind: UntilQuiet, Quiet: ms(2100)}
		for _, c := range []struct {
			name   string
			until  []Condition
			found  ports.Found
			reason string
			index  int
		}{
			{"a port before silence", []Condition{port(80), quiet}, ports.Found{Own: own}, "port", 0},
			{"silence before a port", []Condition{quiet, port(80)}, ports.Found{Own: own}, "quietMs", 0},
			{"another port", []Condition{port(81), quiet}, ports.Found{Own: own}, "quietMs", 1},
			{"any port", []Condition{port(81), port(0)}, ports.Found{Own: own}, "port", 1},
			{"a foreign listener", []Condition{port(0), port(90), quiet}, ports.Found{Others: other}, "portInUse", 1},
			{"a foreign listener after ours", []Condition{port(80), port(90)}, ports.Found{Own: own, Others: other}, "port", 0},
			{"a foreign listener before ours", []Condition{port(90), port(80)}, ports.Found{Own: own, Others: other}, "portInUse", 0},
			{"ours and a foreign listener", []Condition{port(90)}, ports.Found{Own: []ports.Listener{fakeListener(90, 7)}, Others: other}, "port", 0},
			{"one whose owner cannot be seen", []Condition{port(90)}, ports.Found{Maybe: other}, "port", 0},
			{"any does not mean that", []Condition{port(0), quiet}, ports.Found{Maybe: other}, "quietMs", 1},
		} {
			p.say(ports.Found{})
			w := awaitPort(t, f, c.until...)
			time.Sleep(ms(2099)) // The last probe was 74 ms ago, and the next one comes much later.
			p.say(c.found)
			o := must(t, w)
			if o.Reason != c.reason || o.Index != c.index || (o.Port != nil) != (c.reason != "quietMs") {
				t.Errorf("%s: %s, %d, %+v", c.name, o.Reason, o.Index, o.Port)
			}
		}
		p.say(ports.Found{Own: own})
		if o := must(t, awaitPort(t, f, Condition{Kind: UntilQuiet}, port(80))); o.Reason != "quietMs" {
			t.Errorf("both hold at once: %+v", o)
		}
		if o := must(t, awaitPort(t, f, port(80), Condition{Kind: UntilQuiet})); o.Reason != "port" {
			t.Errorf("both hold at once: %+v", o)
		}
		poll, _ := f.Wait(&WaitSpec{Until: []Condition{port(80)}})
		if o := must(t, poll); o.Reason != "port" {
			t.Errorf("without any time: %+v", o)
		}
		poll, _ = f.Wait(&WaitSpec{Until: []Condition{port(81)}})
		if o := must(t, poll); o.Reason != "timeout" || o.Index != -1 || o.Port != nil {
			t.Errorf("without any time: %+v", o)
		}
		p.say(ports.Found{})
		atExit, never := awaitPort(t, f, port(80)), awaitPort(t, f, port(81))
		time.Sleep(ms(2099))
		p.say(ports.Found{Own: own})
		f.proc.exit(0)
		if o := must(t, atExit); o.Reason != "port" {
			t.Errorf("at the leader's end: %+v", o)
		}
		if o := must(t, never); o.Reason != "exit" || o.Index != -1 {
			t.Errorf("at the leader's end: %+v", o)
		}
		p.say(ports.Found{})
		behind := awaitPort(t, f, port(80), Condition{Kind: UntilClosed})
		time.Sleep(time.Second)
		p.say(ports.Found{Own: own})
		if o := must(t, behind); o.Reason != "port" {
			t.Errorf("behind the leader: %+v", o)
		}
		f.proc.gone()
		f.finish()
	})
}

// A probe may block in /proc. Other requests do not wait long for it.
func TestPortLookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		p.stuck = make(chan struct{})
		p.say(ports.Found{Others: []ports.Listener{fakeListener(80, 0)}})
		began := time.Now()
		w := awaitPort(t, f, port(80), Condition{Kind: UntilQuiet, Quiet: ms(300)})
		if o := must(t, w); o.Reason != "quietMs" || time.Since(began) != ms(300)+firstLook {
			t.Errorf("%s after %v", o.Reason, time.Since(began))
		}
		poll, _ := f.Wait(&WaitSpec{Until: []Condition{port(80)}})
		began = time.Now()
		if o := must(t, poll); o.Reason != "timeout" || time.Since(began) != firstLook {
			t.Errorf("%s after %v", o.Reason, time.Since(began))
		}
		if looks := p.anew(); len(looks) != 1 {
			t.Errorf("looks at once: %v", looks)
		}
		// The result of a probe does not count for a wait that was armed after the probe had begun.
		late := awaitPort(t, f, port(80))
		synctest.Wait()
		p.say(ports.Found{Own: []ports.Listener{fakeListener(80, 7)}})
		close(p.stuck)
		if o := must(t, late); o.Reason != "port" {
			t.Errorf("%+v", o)
		}
		f.end()
	})
}

// All requests and waits that come during a probe share the next one.
func TestPortInfos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		p.takes = ms(100)
		began, answers := time.Now(), make(chan Info)
		for range 20 {
			go func() {
				r := <-f.Info().C
				answers <- r.Value
			}()
		}
		time.Sleep(ms(50))
		p.say(ports.Found{Own: []ports.Listener{fakeListener(80, 7)}})
		w := awaitPort(t, f, port(80))
		with := 0
		for range 20 {
			if info := <-answers; len(info.Ports) == 1 {
				with++
			}
		}
		// All but the first are answered by the second probe, which knows the port.
		if looks := p.anew(); len(looks) != 2 || with != 19 || time.Since(began) != ms(200) {
			t.Errorf("looks at %v; %d of 20 know the port; after %v", looks, with, time.Since(began))
		}
		if o := must(t, w); o.Reason != "port" {
			t.Errorf("%+v", o)
		}
		if info := must(t, f.Info()); len(info.Ports) != 1 || len(p.anew()) != 1 {
			t.Errorf("alone: %+v", info.Ports)
		}
		p.say(ports.Found{Partial: true, Own: []ports.Listener{fakeListener(80, 7)}})
		if info := must(t, f.Info()); info.Ports != nil {
			t.Errorf("of more than a look sees: %+v", info.Ports)
		}
		f.end()
	})
}

// Requests that wait for a probe when the job ends are answered.
func TestPortInfosAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, p := startFakePorts(t)
		p.takes = ms(500)
		var asked []Pending[Info]
		for range 3 {
			asked = append(asked, f.Info())
		}
		time.Sleep(ms(50))
		f.end()
		for _, a := range asked {
			if info := must(t, a); info.Status != StatusRunning || info.Ports != nil {
				t.Errorf("%+v", info)
			}
		}
	})
}
