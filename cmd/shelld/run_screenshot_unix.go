//go:build unix

package main

import (
	"encoding/base64"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

// A screenshot is the file for a picture of the command's screen. An existing file is replaced only when the picture is
// complete. The fields are owned by the loop of the runner.
type screenshot struct {
	name   string
	file   *replacement // nil: no screenshot was requested
	format string
	taken  bool // or begun
	taking bool
}

// open creates the file before the command is run, because without it the command may be run in vain.
func (s *screenshot) open(name string) (err error) {
	if name == "" {
		return nil
	}
	s.format = screenFormat(name)
	s.name = name
	s.file, err = openReplacement(name)
	return err
}

// shoot writes the present screen of the terminal, unless one was written before, and then calls then.
func (r *runner) shoot(handle int64, then func()) {
	if r.shot.file == nil || r.shot.taken || handle == 0 {
		then()
		return
	}
	r.shot.taken, r.shot.taking = true, true
	var res schema.JobScreenResult
	r.ask("job/screen", map[string]any{"handle": handle, "format": r.shot.format}, &res, func(err error) {
		r.shot.taking = false
		if err == nil {
			err = r.shot.write(&res)
		}
		if err != nil {
			r.say("the screenshot was not written to %s: %s", printable(r.shot.name), base.Reason(err))
			r.status = statusFailed
		}
		then()
	})
}

func (s *screenshot) write(res *schema.JobScreenResult) error {
	var content []byte
	var err error
	switch {
	case res.Png != nil:
		content, err = base64.StdEncoding.DecodeString(*res.Png)
	case res.Ansi != nil:
		content = []byte(*res.Ansi)
	default:
		content = []byte(screenText(res.Lines))
	}
	if err == nil {
		err = s.file.put(content)
	}
	if err == nil {
		s.file = nil
	}
	return err
}

// discard removes the file if no screenshot was written.
func (s *screenshot) discard() {
	if s.file != nil {
		s.file.discard()
	}
}
