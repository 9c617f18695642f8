package proc

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// group starts a shell command as the leader of a process group of its own, and returns its pid and the word that it
// prints.
func group(t *testing.T, command string) (pid int, word string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // This ends the program that reads it.
		_ = cmd.Wait() // The exit status does not matter.
	})
	word, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(word)
}

func TestArguments(t *testing.T) {
	long := strings.Repeat("é", 300)
	pid, _ := group(t, "echo ready; cat; : '"+long+"'")
	if got := arguments(pid); !strings.HasPrefix(got, "sh -c echo ready; cat; : 'éé") || len(got) > maxCommand || !strings.HasSuffix(got, "é") && !strings.HasSuffix(got, "?") {
		t.Errorf("arguments %q", got)
	}
	if st, ok := statOf(pid); !ok || !st.alive() || st.group != pid || st.name != "sh" {
		t.Errorf("stat %+v, %v", st, ok)
	}
	if got := arguments(1 << 30); got != "" {
		t.Errorf("arguments of nobody: %q", got)
	}
	if st, ok := statOf(1 << 30); ok {
		t.Errorf("stat of nobody: %+v", st)
	}
}

// memberBelow finds a member of a group at any depth below the root, and no process outside of it.
func TestMemberBelow(t *testing.T) {
	// The inner shell prints its pid; its parent is in the same group.
	pid, inner := group(t, `sh -c 'echo $$; cat; :'; :`)
	if got, command := memberBelow(pid, pid); got != pid || !strings.HasPrefix(command, "sh -c sh -c") {
		t.Errorf("the leader is %d %q", got, command)
	}
	var child int
	if _, err := fmt.Sscan(inner, &child); err != nil {
		t.Fatal(err)
	}
	if got, _ := memberBelow(child, pid); got != child {
		t.Errorf("below %d there is %d", child, got)
	}
	if got, command := memberBelow(pid, pid+1); got != 0 || command != "" {
		t.Errorf("of another group there is %d %q", got, command)
	}
	if got, _ := memberBelow(1<<30, pid); got != 0 {
		t.Errorf("below nobody there is %d", got)
	}
}

func TestForegroundOfATerminal(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	// This terminal does not belong to any session yet.
	if f, err := term.Foreground(1); err != nil || f != (Foreground{}) {
		t.Errorf("foreground %+v, %v", f, err)
	}
	cmd := exec.Command("sh", "-c", "echo ready; read x; :")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Source().Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	want := Foreground{cmd.Process.Pid, cmd.Process.Pid, "sh -c echo ready; read x; :"}
	if f, err := term.Foreground(cmd.Process.Pid); err != nil || f != want {
		t.Errorf("foreground %+v, %v; want %+v", f, err, want)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // The hang-up ends it.
	if f, err := term.Foreground(1); err == nil {
		t.Errorf("foreground of a closed terminal: %+v", f)
	}
}
