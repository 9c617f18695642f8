package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs/stored"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// A storedJob is a job as list and show print it in JSON.
type storedJob struct {
	Job       string          `json:"job"` // SESSION/HANDLE
	SessionID string          `json:"sessionId"`
	Handle    int64           `json:"handle"`
	Live      bool            `json:"live"`
	Directory string          `json:"directory"`
	Files     []string        `json:"files"`     // of streams
	Recording *string         `json:"recording"` // name of the file; null: there is none
	Bytes     int64           `json:"bytes"`
	WrittenAt time.Time       `json:"writtenAt"`
	Info      json.RawMessage `json:"info"` // contents of info.json; null: missing or unreadable

	known schema.JobInfo
	short string // name in output for people
	past  stored.Job
}

// stored returns all jobs with their information.
func (p *pastJobs) stored(ctx context.Context) ([]storedJob, error) {
	found, err := p.all(ctx)
	if err != nil {
		return nil, err
	}
	var sessions []string
	for _, f := range found {
		if !slices.Contains(sessions[max(len(sessions)-1, 0):], f.Session) {
			sessions = append(sessions, f.Session)
		}
	}
	short := shortNames(sessions)
	all := make([]storedJob, 0, len(found))
	for _, f := range found {
		j := storedJob{
			Job: fmt.Sprintf("%s/%d", f.Session, f.Handle), SessionID: f.Session, Handle: f.Handle, Live: f.Live,
			Directory: f.Directory, Files: f.Files, Bytes: f.Bytes, WrittenAt: f.Written.UTC(),
			short: fmt.Sprintf("%s/%d", short[f.Session], f.Handle), past: f,
		}
		if known, ok := rpc.ReadStored(f.Info); ok {
			j.Info, j.known = f.Info, known
		}
		if j.Files == nil {
			j.Files = []string{}
		}
		if f.Recording != "" {
			j.Recording = &f.Recording
		}
		p.renew(&j, time.Now())
		all = append(all, j)
	}
	inOrder(all)
	return all, nil
}

// renew updates the information about a live job: its duration and the size of its streams. info.json is written only
// at the start and at the end of a job.
func (p *pastJobs) renew(j *storedJob, now time.Time) {
	if !j.Live || j.Info == nil || j.known.Status == schema.StatusClosed {
		return
	}
	if began, err := time.Parse(time.RFC3339Nano, j.known.StartedAt); err == nil && j.known.EndedAt == nil {
		j.known.DurationMs = max(j.known.DurationMs, now.Sub(began).Milliseconds())
	}
	for name, st := range j.known.Streams {
		j.known.Streams[name] = p.renewed(j, name, st)
	}
	var all map[string]any
	if json.Unmarshal(j.Info, &all) != nil {
		return
	}
	all["durationMs"], all["streams"] = j.known.DurationMs, j.known.Streams
	if b, err := json.Marshal(all); err == nil {
		j.Info = b
	}
}

// renewed updates the information about a stream from its file. If that cannot be read, or does not exist yet, the
// information stays unchanged.
func (p *pastJobs) renewed(j *storedJob, name string, st schema.StreamInfo) schema.StreamInfo {
	file := rpc.StoredIn(name)
	if !slices.Contains(j.Files, file) {
		return st
	}
	out, err := p.Output(j.past, file)
	if err != nil {
		return st
	}
	defer out.Close()
	st.NextOffset, st.Kept = max(st.NextOffset, out.NextOffset), nil
	for _, r := range out.Kept {
		st.Kept = append(st.Kept, []int64{r.From, r.To})
	}
	return st
}

// inOrder sorts jobs by the time of their start, across servers.
func inOrder(all []storedJob) {
	slices.SortStableFunc(all, func(a, b storedJob) int {
		return cmp.Or(a.began().Compare(b.began()), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Handle, b.Handle))
	})
}

// shortNames maps session names to a prefix of their random part, of at least 4 characters and as long as needed to be
// unique.
func shortNames(sessions []string) map[string]string {
	short := map[string]string{}
	for n := 4; ; n++ {
		clear(short)
		taken := map[string]bool{}
		for _, s := range sessions {
			random := randomPart(s)
			short[s] = random[:min(n, len(random))]
			taken[short[s]] = true
		}
		if len(taken) == len(sessions) || n > 16 {
			return short
		}
	}
}

func randomPart(session string) string {
	return session[strings.LastIndexByte(session, '-')+1:]
}

// find returns the job named by the only argument.
func (p *pastJobs) find(ctx context.Context, args []string) (storedJob, error) {
	if len(args) != 1 {
		return storedJob{}, errUsage{errors.New("name one job, as SESSION/HANDLE, by its name or as last; \"shelld jobs\" lists them")}
	}
	all, err := p.stored(ctx)
	if err != nil {
		return storedJob{}, err
	}
	return p.findIn(all, args[0])
}

// findIn returns the job with this name among the stored ones.
func (p *pastJobs) findIn(all []storedJob, name string) (storedJob, error) {
	fits := choose(all, name)
	switch {
	case len(fits) == 0 && !strings.Contains(name, "/"):
		return storedJob{}, fmt.Errorf("there is no stored job %q in %s; write SESSION/HANDLE, as \"shelld jobs\" shows it, the name of a job, or last%s", name, p.place, nearName(all, name))
	case len(fits) == 0:
		return storedJob{}, fmt.Errorf("there is no stored job %q in %s; \"shelld jobs\" lists all", name, p.place)
	case len(fits) > 1:
		return storedJob{}, fmt.Errorf("%q is ambiguous, %s or %s: write more of the session's name", name, fits[0].Job, fits[1].Job)
	}
	return fits[0], nil
}

// choose returns the jobs that a name may mean. If several were started with that name, it returns one: a running job
// if there is one, and among these the newest.
func choose(all []storedJob, name string) (fits []storedJob) {
	if session, handle, ok := strings.Cut(name, "/"); ok {
		for _, j := range all {
			if handle == fmt.Sprint(j.Handle) && session != "" && (strings.HasPrefix(j.SessionID, session) || strings.HasPrefix(randomPart(j.SessionID), session)) {
				fits = append(fits, j)
			}
		}
		return fits
	}
	for _, j := range all {
		if name == "last" || j.known.Name != nil && *j.known.Name == name {
			fits = append(fits, j)
		}
	}
	if len(fits) < 2 {
		return fits
	}
	running := func(j storedJob) int {
		if name != "last" && j.Live && j.known.Exit == nil {
			return 1
		}
		return 0
	}
	return []storedJob{slices.MaxFunc(fits, func(a, b storedJob) int {
		return cmp.Or(cmp.Compare(running(a), running(b)), a.began().Compare(b.began()))
	})}
}

// nearName returns a question about a similar name, to append to an error, or "".
func nearName(all []storedJob, name string) string {
	var names []string
	for _, j := range all {
		if j.known.Name != nil {
			names = append(names, *j.known.Name)
		}
	}
	if near := schema.Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// began returns the start of the job or, if unknown, the time of the last write.
func (j *storedJob) began() time.Time {
	if t, err := time.Parse(time.RFC3339Nano, j.known.StartedAt); err == nil {
		return t
	}
	return j.WrittenAt
}

// state returns the state of the job in one to three words.
func (j *storedJob) state() string {
	switch exit := j.known.Exit; {
	case j.Info == nil && j.Live:
		return "starting"
	case j.Info == nil, !j.Live && exit == nil:
		return "lost"
	case j.waiting() != nil:
		return "waits for input"
	case exit == nil, j.Live && j.known.Status != schema.StatusClosed:
		return string(j.known.Status)
	case exit.Reason == schema.ExitReasonExited && exit.Code != nil:
		return fmt.Sprintf("exit %d", *exit.Code)
	case exit.Reason == schema.ExitReasonSignaled && exit.Signal != nil:
		return *exit.Signal
	default:
		return string(exit.Reason)
	}
}

// command returns the command in one line.
func (j *storedJob) command() string {
	if j.known.Command != nil {
		return *j.known.Command
	}
	words := slices.Clone(j.known.Argv)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell.
func shellWord(w string) string {
	if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}

func listFlags(fs *flag.FlagSet) jobsRun {
	asJSON := fs.Bool("json", false, "print JSON, for programs")
	return func(ctx context.Context, p *pastJobs, _ []string) error {
		all, err := p.stored(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			return p.print(map[string]any{"stateDirectory": optionalText(p.dir), "jobs": all})
		}
		if len(all) == 0 {
			fmt.Fprintf(os.Stderr, "no jobs are stored in %s\n", printable(p.place))
			return nil
		}
		_, err = p.out.Write([]byte(listTable(all, p.width())))
		return err
	}
}

// listArgument returns the error for an argument of list.
func listArgument(arg string) error {
	if slices.ContainsFunc(jobsCommand().Commands, func(c *base.Command) bool { return c.Name == arg }) {
		return fmt.Errorf("a command comes before its flags: shelld jobs %s [FLAGS]", arg)
	}
	return fmt.Errorf("unexpected argument %q; \"shelld jobs show JOB\" prints all about a job", arg)
}

func optionalText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// print writes a value as JSON.
func (p *pastJobs) print(v any) error { return writeJSON(p.out, v) }

// writeJSON writes a value as JSON that is safe to show on a terminal.
func writeJSON(w io.Writer, v any) error {
	var b, laidOut bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	// Without the final line end, control characters occur only in strings.
	if err := json.Indent(&laidOut, base.EscapeControls(bytes.TrimSpace(b.Bytes())), "", "  "); err != nil {
		return err
	}
	_, err := w.Write(append(laidOut.Bytes(), '\n'))
	return err
}

// width returns the width for lines; 0: unlimited.
func (p *pastJobs) width() int {
	if !p.terminal {
		return 0
	}
	return demoWidth(os.Stdout)
}

func listTable(all []storedJob, width int) string {
	rows := [][]string{{"JOB", "NAME", "STARTED", "TIME", "SIZE", "STATE", "COMMAND"}}
	below := []string{""} // the job's prompt, below each row
	for i := range all {
		j := &all[i]
		started, took := "", ""
		if t, err := time.Parse(time.RFC3339Nano, j.known.StartedAt); err == nil {
			started, took = t.Local().Format("2006-01-02 15:04:05"), span(time.Duration(j.known.DurationMs)*time.Millisecond)
		}
		state := j.state()
		if j.Recording != nil {
			state += ", recorded"
		}
		rows = append(rows, []string{j.short, j.name(), started, took, size(j.Bytes - int64(len(j.past.Info))), state, j.command()})
		below = append(below, j.asks())
	}
	if !slices.ContainsFunc(all, func(j storedJob) bool { return j.name() != "" }) {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	var b strings.Builder
	for i, line := range columns(rows) {
		b.WriteString(cutLine(line, width) + "\n")
		if below[i] != "" {
			b.WriteString(cutLine("    "+below[i], width) + "\n")
		}
	}
	return b.String()
}

// columns formats rows as lines. Numbers are aligned right.
func columns(rows [][]string) (lines []string) {
	widths := make([]int, len(rows[0])-1)
	for _, r := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(r[i]))
		}
	}
	for _, r := range rows {
		var line string
		for i, width := range widths {
			if head := rows[0][i]; head == "TIME" || head == "SIZE" {
				width = -width
			}
			line += fmt.Sprintf("%*s  ", -width, r[i])
		}
		lines = append(lines, line+r[len(r)-1])
	}
	return lines
}

// cutLine cuts a line to the width; 0: unlimited.
func cutLine(line string, width int) string {
	line = strings.TrimRight(printable(line), " ")
	if cut := []rune(line); width > 0 && len(cut) > width {
		line = string(cut[:width-1]) + "…"
	}
	return line
}

func (j *storedJob) name() string {
	if j.known.Name == nil {
		return ""
	}
	return *j.known.Name
}

// waiting returns the last known input wait of a live job; nil: none is known.
func (j *storedJob) waiting() *schema.WaitingForInput {
	w := j.known.WaitingForInput
	if !j.Live || j.known.Exit != nil || w == nil || !w.Waiting || w.State == nil || *w.State != schema.InputStateReading {
		return nil
	}
	return w
}

// asks returns the prompt with which the job waits, or "".
func (j *storedJob) asks() string {
	w := j.waiting()
	switch {
	case w == nil || w.Prompt == nil || *w.Prompt == "":
		return ""
	case w.Kind != nil && *w.Kind == schema.InputKindFullscreen: // The cursor is in a text, so there is no prompt.
		return ""
	case w.Kind != nil && *w.Kind == schema.InputKindPassword:
		return "asks for a password: " + *w.Prompt
	}
	return "asks: " + *w.Prompt
}

// span formats a duration for people.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// size formats a number of bytes for people.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%dB", n)
	}
	f, unit := float64(n)/1024, 0
	for ; f >= 999.5 && unit < 3; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f%ciB", f, "KMGT"[unit])
}

func showFlags(fs *flag.FlagSet) jobsRun {
	asJSON := fs.Bool("json", false, "print JSON, for programs")
	return func(ctx context.Context, p *pastJobs, args []string) error {
		j, err := p.find(ctx, args)
		if err != nil {
			return err
		}
		if *asJSON {
			return p.print(j)
		}
		_, err = p.out.Write([]byte(j.text()))
		return err
	}
}

// text returns all stored information about a job, for people.
func (j *storedJob) text() string {
	var b strings.Builder
	line := func(title, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", title, printable(value))
		}
	}
	line("job", j.Job)
	line("state", j.state())
	if j.Live {
		line("", "its server may be alive: state, title and so on are as last written; job/get has the current ones")
	}
	k := &j.known
	line("", j.asks())
	line("command", j.command())
	for _, m := range []struct {
		title string
		value *string
	}{{"description", k.Description}, {"group", k.Group}, {"title", k.Title}} {
		if m.value != nil {
			line(m.title, *m.value)
		}
	}
	line("name", j.name())
	line("cwd", k.Cwd)
	line("started", k.StartedAt)
	if k.EndedAt != nil {
		line("ended", *k.EndedAt)
	}
	if k.StartedAt != "" {
		line("time", span(time.Duration(k.DurationMs)*time.Millisecond))
	}
	for _, name := range []string{"pty", "stdout", "stderr"} {
		if st, ok := k.Streams[name]; ok {
			line(name, streamText(st))
		}
	}
	for _, f := range j.Files {
		line("file", filepath.Join(j.Directory, f))
	}
	if j.Recording != nil {
		line("recording", filepath.Join(j.Directory, *j.Recording))
	}
	if e := k.OutputFileError; e != nil {
		line("failed", e.Path+": "+e.Reason)
	}
	return b.String()
}

// streamText returns the length of a stream, and its stored ranges if they are not complete.
func streamText(st schema.StreamInfo) string {
	text := fmt.Sprintf("%d bytes", st.NextOffset)
	if len(st.Kept) == 1 && st.Kept[0][0] == 0 && st.Kept[0][1] == st.NextOffset || st.NextOffset == 0 {
		return text
	}
	var kept []string
	for _, r := range st.Kept {
		kept = append(kept, fmt.Sprintf("%d to %d", r[0], r[1]))
	}
	return text + ", stored: " + cmp.Or(strings.Join(kept, ", "), "none")
}
