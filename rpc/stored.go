package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/jobs/stored"
	"shelld.dev/shelld/schema"
)

// infoFile returns the content of info.json, which is stored beside a job's output.
func infoFile(i jobs.Info) ([]byte, error) { return indented(jobInfo(i)) }

// indented returns a value as JSON for people to read.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, marshal(v), "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// StoredInfo reads and finishes the info.json that servers have stored for jobs.
type StoredInfo struct{}

// ReadStored reads info.json, as far as this version understands it: the file of another version may have members that
// the schema does not know. ok is false if it is not an info.json.
func ReadStored(info []byte) (known schema.JobInfo, ok bool) {
	if json.Unmarshal(info, &known) != nil || known.Handle < 1 || known.Status == "" {
		return schema.JobInfo{}, false
	}
	for name, st := range known.Streams {
		st.Kept = slices.DeleteFunc(st.Kept, func(r []int64) bool { return len(r) != 2 })
		known.Streams[name] = st
	}
	return known, true
}

// Closed implements [stored.InfoReader]. It does not check the schema: the final state that another version has stored
// is final.
func (StoredInfo) Closed(info []byte) bool {
	known, ok := ReadStored(info)
	return ok && known.Status == schema.StatusClosed
}

// Files implements [stored.InfoReader].
func (StoredInfo) Files(info []byte) map[string]stored.File {
	known, ok := ReadStored(info)
	if !ok || known.Streams == nil {
		return nil
	}
	all := map[string]stored.File{}
	for name, st := range known.Streams {
		f := stored.File{NextOffset: st.NextOffset}
		for _, r := range st.Kept {
			f.Kept = append(f.Kept, jobs.Range{From: r[0], To: r[1]})
		}
		if file := StoredIn(name); file != "" {
			all[file] = f
		}
	}
	return all
}

// Finish implements [stored.InfoReader]. A stored exit is a fact and stays. Without one, the way in which the leader
// ended is lost with the server. Members that this version does not know are left out; unknown words in known members
// stay.
func (StoredInfo) Finish(info []byte, l stored.Leftover) ([]byte, error) {
	lost := exit(&jobs.Exit{Reason: jobs.ReasonLost})
	if known, ok := ReadStored(info); ok {
		if b, err := finished(known, lost, l); err == nil {
			return b, nil
		}
	}
	return checked(schema.LostInfo{
		Handle: l.Handle, Status: string(schema.StatusClosed), Exit: *lost, OutputDirectory: l.Directory, Streams: foundStreams(l),
	})
}

// foundStreams returns the streams that the files show. It is used if there is no other information.
func foundStreams(l stored.Leftover) map[string]schema.StreamInfo {
	all := map[string]schema.StreamInfo{}
	for name, f := range l.Files {
		all[strings.TrimSuffix(name, ".txt")] = schema.StreamInfo{NextOffset: f.NextOffset, Kept: pairs(f.Kept)}
	}
	return all
}

// finished returns the final info of a job from its known info. It returns an error if that is too little.
func finished(known schema.JobInfo, lost *schema.Exit, l stored.Leftover) ([]byte, error) {
	known.Status = schema.StatusClosed
	if known.Exit == nil {
		known.Exit = lost
		// Its files show that it lived until then; nothing is known of its end.
		if began, err := time.Parse(time.RFC3339Nano, known.StartedAt); err == nil {
			known.DurationMs = max(known.DurationMs, l.Touched.Sub(began).Milliseconds())
		}
	}
	known.Background, known.Foreground, known.Ports, known.WaitingForInput, known.EndsAt = nil, nil, nil, nil, nil
	for name, st := range known.Streams {
		file := StoredIn(name)
		if file == "" {
			continue // It was not checked.
		}
		found := l.Files[file]
		st.NextOffset, st.Kept = max(st.NextOffset, found.NextOffset), pairs(found.Kept)
		known.Streams[name] = st
	}
	b, err := indented(known)
	if err == nil {
		err = schema.ValidateUnderstood(b)
	}
	return b, err
}

// StoredIn returns the name of a stream's file; "" if this version knows no such stream.
func StoredIn(stream string) string {
	switch schema.Stream(stream) {
	case schema.StreamPty, schema.StreamStdout:
		return "stdout.txt"
	case schema.StreamStderr:
		return "stderr.txt"
	}
	return ""
}

// checked returns the info.json of a job of which nothing was known, if it fits the schema.
func checked(info schema.LostInfo) ([]byte, error) {
	b, err := indented(info)
	if err == nil {
		err = schema.ValidateStored(b)
	}
	if err != nil {
		return nil, fmt.Errorf("stored state of a lost job: %w", err)
	}
	return b, nil
}
