package shellmark

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNested runs shells and programs that read lines within a command: they are part of it.
func TestNested(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for _, inner := range []string{"PS1='in''ner> ' bash --norc --noprofile", "sh -c 'printf inner\">\"; read a; echo got $a'"} {
				if shell == Fish {
					inner = "env " + inner
				}
				began := s.begin(inner)
				s.awaitText(began.At, "inner>")
				s.typed("exit 7\r")
				got := s.end(began)
				if !strings.Contains(got.out, "inner>") || strings.HasPrefix(inner, "sh") == (got.exit == 7) && shell != Fish {
					t.Errorf("%q: %+v", inner, got)
				}
			}
			if got := s.run("echo outer"); got.out != "outer\n" {
				t.Errorf("%+v", got)
			}
			began := s.begin("exec sh -c 'echo replaced; exit 5'")
			for s.read() {
			}
			if got := string(s.out[began.At:]); got != "replaced\r\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestSeen checks the visible output: the prompt, the command, and its output.
func TestSeen(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{files: map[string]string{".bashrc": "PS1='> '\n", ".zshrc": "PS1='> '\n", ".config/fish/config.fish": "function fish_prompt; echo -n '> '; end\nfunction fish_greeting; end\n"}})
			for _, command := range []string{"echo one", "echo one\necho two", strings.Repeat("echo one; ", 20), "echo \"$HOME\""} {
				from := len(s.out)
				began := s.begin(command)
				if seen := s.out[from:began.At]; !bytes.Contains(seen, []byte(strings.ReplaceAll(strings.TrimSpace(command), "\n", "\r\n"))) && len(command) < 80 || bytes.Contains(seen, []byte("__shelld")) && shell != Fish || bytes.Contains(seen, []byte("eval \"$__shelld_c")) {
					t.Errorf("%q is seen as %q", command, seen)
				}
				s.end(began)
			}
		})
	}
}

// BenchmarkCommand measures an empty command, from the key that runs it until the next prompt: typed into a plain
// shell, typed into a shell with the hooks, and injected into that.
func BenchmarkCommand(b *testing.B) {
	files := map[string]string{".bashrc": "PS1='> '\n", ".zshrc": "PS1='> '\n", ".config/fish/config.fish": "function fish_prompt; echo -n '> '; end\nfunction fish_greeting; end\n"}
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		for _, how := range []string{"plain", "typed", "given", "evaluated"} {
			b.Run(fmt.Sprintf("%s/%s", shell, how), func(b *testing.B) {
				s := start(b, shell, setup{files: files, plain: how == "plain"})
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					from := len(s.out)
					begin := time.Now()
					switch how {
					case "given":
						s.run("true")
					case "evaluated":
						s.run("true; (:)")
					default:
						s.typed(fmt.Sprintf("echo x''%dx\r", i))
						s.awaitText(from, fmt.Sprintf("xx%dx", i)[1:])
						s.awaitText(from+bytes.Index(s.out[from:], []byte(fmt.Sprintf("x%dx", i))), "> ")
					}
					took = append(took, time.Since(begin))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			})
		}
	}
}
