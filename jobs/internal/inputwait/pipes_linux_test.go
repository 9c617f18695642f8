package inputwait_test

import (
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

func TestPipes(t *testing.T) {
	t.Run("cat", func(t *testing.T) {
		t.Parallel()
		j := onPipes(t, "cat")
		j.waits("", reading, line, exact)
		j.write("text")
		j.waits("text", reading, line, exact)
	})
	t.Run("a child", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "bash", "-c", "echo go; cat; :").waits("go", reading, line, exact)
	})
	t.Run("input", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "python3", "-u", "-c", "input('name? ')").waits("name? ", reading, line, exact)
	})
	t.Run("select", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "python3", "-u", "-c", "import select; select.select([0],[],[])").waits("", reading, line, exact)
	})
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "node", "-e", "console.log('ready'); process.stdin.on('data', d => 0)").waits("ready", reading, line, exact)
	})
	t.Run("another pipe", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "bash", "-c", "echo 'go? '; sleep 60 | cat").never("go? ", 700*time.Millisecond)
	})
	t.Run("sleep", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "bash", "-c", "echo 'go? '; sleep 5").never("go? ", 700*time.Millisecond)
	})
	t.Run("output closed", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "bash", "-c", "echo go; exec cat >/dev/null 2>&1").waits("go", reading, line, exact)
	})
	t.Run("blocked", func(t *testing.T) {
		t.Parallel()
		j := unreadPipe(t, "yes")
		v := j.await("blocked", func(v inputwait.Verdict) bool { return v.Blocked })
		if v.Waiting {
			t.Errorf("it waits as well: %+v", v)
		}
	})
}
