package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// percentile returns the delay, in milliseconds, that a part of the delays, from 0 to 1, does not exceed.
func percentile(delays []time.Duration, part float64) string {
	if len(delays) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(delays))
	at := sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
	return fmt.Sprintf("%.1f", at.Seconds()*1e3)
}

// renderWaiting returns the tables.
func renderWaiting(waits, idle []*row, skipped []string) string {
	var b strings.Builder
	all, exact := &row{by: map[string]int{}}, &row{by: map[string]int{}}
	if len(waits) > 0 {
		b.WriteString("| program | waits | missed | early | early guess | falsely exact | other kind | exact | likely | listening | guess | p50, ms | p99, ms |\n")
		b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
	group := ""
	for _, r := range waits {
		if r.group != group {
			group = r.group
			fmt.Fprintf(&b, "| **%s** | | | | | | | | | | | | |\n", group)
		}
		r.line(&b)
		if r.exact {
			exact.add(r)
		} else {
			all.add(r)
		}
	}
	exact.name, all.name = "**all that were made for it**", "**all real programs**"
	for _, r := range []*row{exact, all} {
		if r.waits+r.broken > 0 {
			r.line(&b)
		}
	}
	if len(idle) > 0 {
		b.WriteString("\n| busy | probes | falsely exact | likely | guess | listening |\n| --- | --- | --- | --- | --- | --- |\n")
		sum := &row{name: "**all**", by: map[string]int{}}
		for _, r := range idle {
			sum.add(r)
		}
		for _, r := range append(idle, sum) {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", cell(r.name), r.probes, r.falseExact, r.by["likely"], r.by["guess"], r.by["listening"])
		}
	}
	broken := 0
	for _, r := range append(slices.Clone(waits), idle...) {
		broken += r.broken
	}
	real := 0
	for _, r := range waits {
		if !r.exact && r.waits > 0 {
			real++
		}
	}
	fmt.Fprintf(&b, "\n%d real programs that wait and %d busy ones, on %d processors of %s, whose load averages were %s at the end.", real, len(idle), runtime.NumCPU(), kernel(), load())
	if broken > 0 {
		fmt.Fprintf(&b, " In %d rounds a program went another way than its dialogue says, and the rest of the round does not count.", broken)
	}
	if len(skipped) > 0 {
		fmt.Fprintf(&b, " Not run: %s.", strings.Join(skipped, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + strings.TrimSpace(string(release))
}

// load returns the load averages of the machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	return strings.Join(strings.Fields(string(text))[:3], ", ")
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func (r *row) line(b *strings.Builder) {
	fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n", cell(r.name), r.waits, r.missed, r.early, r.guessed, r.falseExact, r.wrong,
		r.by["exact"], r.by["likely"], r.by["listening"], r.by["guess"], percentile(r.delays, 0.5), percentile(r.delays, 0.99))
}

func (r *row) add(o *row) {
	r.waits += o.waits
	r.missed += o.missed
	r.early += o.early
	r.guessed += o.guessed
	r.falseExact += o.falseExact
	r.wrong += o.wrong
	r.broken += o.broken
	r.probes += o.probes
	r.delays = append(r.delays, o.delays...)
	for k, n := range o.by {
		r.by[k] += n
	}
}

// writeWaiting puts a table between its markers in a page.
func writeWaiting(path, mark, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := fmt.Appendf(nil, "<!-- waiting %s -->\n", mark), fmt.Appendf(nil, "<!-- /waiting %s -->\n", mark)
	before, rest, ok := bytes.Cut(page, begin)
	_, after, ok2 := bytes.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", path, begin, end)
	}
	return os.WriteFile(path, slices.Concat(before, begin, []byte(text), end, after), 0o644)
}
