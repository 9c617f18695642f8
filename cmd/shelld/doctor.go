package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs"
)

// A diagnosis is the output of doctor.
type diagnosis struct {
	Version string  `json:"version"`
	Go      string  `json:"go"`
	OS      string  `json:"os"`
	Arch    string  `json:"arch"`
	Kernel  string  `json:"kernel,omitempty"`
	CanRun  bool    `json:"canRunJobs"`
	Checks  []check `json:"checks"`
}

// A check is one entry of a diagnosis.
type check struct {
	Name   string         `json:"name"`
	Status jobs.Grade     `json:"status"`
	Found  string         `json:"found"`
	Reason string         `json:"reason,omitempty"`
	Advice string         `json:"advice,omitempty"`
	Facts  map[string]any `json:"facts,omitempty"`
}

func doctorCommand() *base.Command {
	return &base.Command{
		Name:    "doctor",
		Summary: "report what works on this machine, and how to fix what does not",
		Notes:   "Exit status: 0 if jobs can be run here, 1 if not, 2 if the command line is wrong.",
		Flags: func(fs *flag.FlagSet) func(*base.Call) int {
			asJSON := fs.Bool("json", false, "print JSON, for programs")
			return func(*base.Call) int { return doctor(*asJSON) }
		},
	}
}

// doctor prints what this machine can do. It returns 0 if jobs can be run here.
func doctor(asJSON bool) int {
	if err := base.EnoughDescriptors(3); err != nil {
		fmt.Fprintln(os.Stderr, "shelld doctor:", err)
		return 1
	}
	d := diagnose()
	if err := d.print(os.Stdout, asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "shelld doctor:", err)
		return 1
	}
	if !d.CanRun {
		return 1
	}
	return 0
}

// diagnose examines the machine, and then runs jobs on it.
func diagnose() *diagnosis {
	d := &diagnosis{Version: base.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: jobs.Kernel()}
	for _, f := range jobs.Examine() {
		d.add(f)
	}
	trial := tryJobs()
	for _, f := range trial.findings {
		d.add(f)
	}
	d.CanRun = trial.canRun
	withoutProc(d)
	d.add(shellsFound(trial.versions))
	if f, ok := afterLogout(); ok {
		d.add(f)
	}
	slices.SortStableFunc(d.Checks, func(a, b check) int { return checkOrder(a.Name) - checkOrder(b.Name) })
	return d
}

func (d *diagnosis) add(f jobs.Finding) {
	d.Checks = append(d.Checks, check{f.Name, f.Grade, f.Found, f.Reason, f.Advice, f.Facts})
}

// checkTitles lists the names of the checks with their titles, in the order of output.
var checkTitles = [][2]string{
	{"keeper", "keeper"},
	{"pipeJobs", "jobs on pipes"},
	{"ptyJobs", "jobs on terminals"},
	{"terminals", "terminals"},
	{"treeControl", "tree control"},
	{"subreaper", "subreaper"},
	{"proc", "/proc"},
	{"pidfd", "pidfd"},
	{"cgroup", "cgroup.kill"},
	{"files", "limit: files"},
	{"processes", "limit: processes"},
	{"addressSpace", "limit: addresses"},
	{"defaultShell", "default shell"},
	{"shells", "shells"},
	{"stateDirectory", "state directory"},
	{"inputDetection", "waiting for input"},
	{"logout", "after a logout"},
}

// checkOrder returns the position of a check; those without a title come last.
func checkOrder(name string) int {
	i := slices.IndexFunc(checkTitles, func(t [2]string) bool { return t[0] == name })
	if i < 0 {
		return len(checkTitles)
	}
	return i
}

func (d *diagnosis) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(d)
	}
	_, err := io.WriteString(w, d.table(demoWidth(os.Stdout)))
	return err
}

// table returns the diagnosis for people.
func (d *diagnosis) table(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "shelld %s (%s, %s/%s%s)\n\n", d.Version, d.Go, d.OS, d.Arch, strings.TrimRight(", "+d.Kernel, ", "))
	const indent = 9 + 22
	for _, c := range d.Checks {
		title := c.Name
		if i := checkOrder(c.Name); i < len(checkTitles) {
			title = checkTitles[i][1]
		}
		if c.Name == "keeper" && firstKeeper() == "" {
			title = "first job"
		}
		text := c.Found
		if c.Reason != "" {
			text += ": " + c.Reason
		}
		lines := wrap(printable(text), width-indent)
		if c.Advice != "" {
			for i, line := range wrap(printable(c.Advice), width-indent-2) {
				lines = append(lines, []string{"→ ", "  "}[min(i, 1)]+line)
			}
		}
		fmt.Fprintf(&b, "%-9s%-22s%s\n", c.Status, title, strings.Join(lines, "\n"+strings.Repeat(" ", indent)))
	}
	fmt.Fprintf(&b, "\n%s\n", d.verdict())
	return b.String()
}

// shellsFound returns the check of the shells, with the versions that they have reported.
func shellsFound(versions map[string]string) jobs.Finding {
	found, missing := jobs.FindShells()
	f := jobs.Finding{Name: "shells", Grade: jobs.GradeOK}
	var list []any
	var phrases []string
	for _, s := range found {
		fact := map[string]any{"name": s.Name, "path": s.Path}
		phrase := s.Path
		if s.Target != "" {
			fact["target"] = s.Target
			phrase += " (" + s.Target + ")"
		}
		if v := versions[s.Path]; v != "" {
			fact["version"] = v
			phrase += " " + v
		}
		list, phrases = append(list, fact), append(phrases, phrase)
	}
	f.Found = strings.Join(phrases, ", ")
	f.Facts = map[string]any{"found": list, "missing": missing}
	if len(missing) > 0 {
		f.Found = strings.TrimPrefix(f.Found+"; missing: "+strings.Join(missing, ", "), "; ")
	}
	if len(found) == 0 {
		f.Grade, f.Reason = jobs.GradeMissing, "no known shell is on PATH"
		f.Advice = "install bash or sh, or set PATH to where they are; programs can be run without a shell, as argv"
	}
	return f
}
