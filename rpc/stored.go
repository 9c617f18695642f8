package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"shelld/jobs"
	"shelld/schema"
)

// infoFile is what is stored beside a job's output.
func infoFile(i jobs.Info) ([]byte, error) { return indented(jobInfo(i)) }

// indented is a value as people read it.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, marshal(v), "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// StoredInfo reads and finishes what servers have stored of jobs: info.json.
type StoredInfo struct{}

// Closed implements [jobs.InfoReader].
func (StoredInfo) Closed(stored []byte) bool {
	var known struct {
		Status schema.Status `json:"status"`
	}
	return schema.ValidateStored(stored) == nil && json.Unmarshal(stored, &known) == nil && known.Status == schema.StatusClosed
}

// Finish implements [jobs.InfoReader]. An exit that was stored is a fact and stays; without
// one it is lost with the server how the leader ended.
func (StoredInfo) Finish(stored []byte, l jobs.Leftover) ([]byte, error) {
	lost := exit(&jobs.Exit{Reason: jobs.ReasonLost})
	var known schema.JobInfo
	if schema.ValidateStored(stored) != nil || json.Unmarshal(stored, &known) != nil || known.Argv == nil {
		return checked(schema.LostInfo{Handle: int64(l.Handle), Status: string(schema.StatusClosed), Exit: *lost, OutputDirectory: l.Directory})
	}
	known.Status = schema.StatusClosed
	if known.Exit == nil {
		known.Exit = lost
		// Its files tell that it lived until then; of its end nothing is known.
		if began, err := time.Parse(time.RFC3339Nano, known.StartedAt); err == nil {
			known.DurationMs = max(known.DurationMs, l.Touched.Sub(began).Milliseconds())
		}
	}
	known.Background, known.Foreground, known.Ports, known.WaitingForInput = nil, nil, nil, nil
	for name, st := range known.Streams {
		found := l.Files[storedIn(name)]
		st.NextOffset, st.Kept = max(st.NextOffset, found.NextOffset), nil
		for _, r := range found.Kept {
			st.Kept = append(st.Kept, []int64{r.From, r.To})
		}
		known.Streams[name] = st
	}
	return checked(known)
}

// storedIn is the name of a stream's file.
func storedIn(stream string) string {
	if stream == string(schema.StreamStderr) {
		return "stderr.txt"
	}
	return "stdout.txt"
}

// checked is what is stored of a job, if it is what the schema says.
func checked(info any) ([]byte, error) {
	b, err := indented(info)
	if err == nil {
		err = schema.ValidateStored(b)
	}
	if err != nil {
		return nil, fmt.Errorf("what is known of a job that was lost: %w", err)
	}
	return b, nil
}
