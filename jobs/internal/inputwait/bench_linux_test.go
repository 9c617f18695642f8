package inputwait_test

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/proc"
)

// BenchmarkLook measures one probe of a program that waits, and of one that sleeps.
func BenchmarkLook(b *testing.B) {
	for _, test := range []struct {
		name    string
		waiting bool
		args    []string
	}{
		{"cat", true, []string{"cat"}},
		{"bash", true, []string{"bash", "--norc", "-i"}},
		{"pipeline", true, []string{"bash", "-c", "cat | cat | cat"}},
		{"sleep", false, []string{"sleep", "600"}},
		{"python3", true, []string{"/usr/bin/python3", "-q"}},
		{"node", true, []string{"node", "-i"}},
	} {
		for tier := 1; tier <= 2; tier++ {
			b.Run(fmt.Sprintf("%s/tier%d", test.name, tier), func(b *testing.B) {
				benchmarkLook(b, test.args, test.waiting, tier)
			})
		}
	}
}

func benchmarkLook(b *testing.B, args []string, waiting bool, tier int) {
	need(b, args[0])
	term, slave, err := proc.OpenTerminal(80, 24)
	if err != nil {
		b.Fatal(err)
	}
	defer term.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = slave.Close() // The program has its own.
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 4096); ; {
			if _, err := term.Source().Read(buf); err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // It may have ended.
		_ = cmd.Wait()                                      // Its exit status does not matter.
		<-done
	}()
	p := inputwait.Limited(inputwait.Target{Leader: cmd.Process.Pid, Input: term, Terminal: term}, tier)
	for start := time.Now(); p.Look(time.Since(start)).Waiting != waiting || time.Since(start) < time.Second; pause() {
		if time.Since(start) > deadline {
			b.Fatalf("it never got there: %s", strings.Join(args, " "))
		}
	}
	before := processorTime()
	for b.Loop() {
		p.Look(time.Hour)
	}
	// Processor time does not depend on other programs on the machine.
	b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op")
	b.ReportAllocs()
}

func processorTime() int64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // This never fails for the own process.
	return used.Utime.Nano() + used.Stime.Nano()
}
