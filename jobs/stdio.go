package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"shelld/jobs/internal/proc"
)

// A stdio is the standard descriptors of a pipe job while it is being started: pipes
// to the server, and files that the program has to itself.
type stdio struct {
	stdin, stdout, stderr *os.File   // the job's; nil: the null device
	all                   []*os.File // these, once each
	outputs               []output   // our ends of the pipes
	input                 input      // nil: none
}

// openStdio makes what a spec asks for. The files come first, and those for output
// are emptied last, so that a start that is refused for one of them has emptied
// nothing.
func (m *Manager) openStdio(s *Spec, dir string) (*stdio, *Error) {
	c := &stdio{}
	err := m.openStdin(c, s, dir)
	if err == nil {
		err = m.openOutputs(c, s, dir)
	}
	if err != nil {
		c.closeTheirs()
		c.closeOurs()
		return nil, err
	}
	return c, nil
}

// textBytes is how much memory the text takes that stdin is.
func (s *Spec) textBytes() int64 {
	if s.StdinText == nil {
		return 0
	}
	return int64(len(*s.StdinText))
}

// closeTheirs closes the job's descriptors: the job has its own.
func (c *stdio) closeTheirs() {
	for _, f := range c.all {
		_ = f.Close() // Nothing was written that could fail.
	}
}

// closeOurs closes the server's ends of what no job has used.
func (c *stdio) closeOurs() {
	for _, o := range c.outputs {
		_ = o.src.Close() // Nothing has used it.
	}
	if c.input != nil {
		_ = c.input.Close() // As above.
	}
}

// theirs notes a file that the job gets.
func (c *stdio) theirs(f *os.File) *os.File {
	c.all = append(c.all, f)
	return f
}

func (m *Manager) openStdin(c *stdio, s *Spec, dir string) *Error {
	switch {
	case s.StdinText != nil:
		f, err := proc.TextFile(*s.StdinText)
		if err != nil {
			return textError(err)
		}
		c.stdin = c.theirs(f)
	case s.StdinFile != "":
		path := from(dir, s.StdinFile)
		f, err := proc.OpenInput(path, m.allowFile)
		if err != nil {
			return inputFileError(path, err)
		}
		c.stdin = c.theirs(f)
	case s.OpenStdin:
		in, f, err := proc.InputPipe()
		if err != nil {
			return resourceError("a pipe", err)
		}
		c.input, c.stdin = in, c.theirs(f)
	}
	return nil
}

func (m *Manager) openOutputs(c *stdio, s *Spec, dir string) *Error {
	var files []*os.File
	open := func(name Stream, file string) (f *os.File, e *Error) {
		if file == "" {
			src, f, err := proc.OutputPipe()
			if err != nil {
				return nil, resourceError("a pipe", err)
			}
			c.outputs = append(c.outputs, output{name, src})
			return c.theirs(f), nil
		}
		path := from(dir, file)
		f, err := proc.OpenOutput(path, m.allowFile)
		if err != nil {
			return nil, outputFileError(path, err)
		}
		files = append(files, f)
		return c.theirs(f), nil
	}
	var err *Error
	if c.stdout, err = open(Stdout, s.StdoutFile); err != nil {
		return err
	}
	switch s.Stderr {
	case StderrMerge:
		c.stderr = c.stdout
	case StderrDiscard:
	default:
		if c.stderr, err = open(Stderr, s.StderrFile); err != nil {
			return err
		}
		if len(files) == 2 && sameFile(files[0], files[1]) {
			c.stderr = c.stdout // one position for both: neither writes over the other
		}
	}
	for _, f := range files {
		if err := proc.Empty(f); err != nil {
			return outputFileError(f.Name(), err)
		}
	}
	return nil
}

func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// from is where a path leads that counts from a directory. It is not cleaned: what
// .. means behind a symlink is for the kernel to say.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// allowFile refuses a file outside the directories that the client allowed.
func (m *Manager) allowFile(real string) error {
	if m.isAllowed(real) {
		return nil
	}
	return m.notAllowed("file", real, real)
}

// textError tells why there can be no file in memory: there is no room now, or the
// server may not have one as long as that (ulimit -f).
func textError(err error) *Error {
	e := resourceError("the text of stdin", err)
	if !isResource(err) && !errors.Is(err, syscall.ENOSPC) {
		e.Retryable = false
		e.Message = fmt.Sprintf("the text of stdin cannot be kept in memory (%s); put it into a file, and give that as stdin", errnoText(err))
	}
	return e
}

// fileError is what can be wrong with any file: it lies elsewhere, or the system is
// short of something. Anything else is nil.
func fileError(err error) *Error {
	var refused *Error
	if errors.As(err, &refused) {
		return refused
	}
	if isResource(err) {
		return resourceError("a file", err)
	}
	return nil
}

// inputFileError tells why a file cannot be read: one that may not is told as one that
// may not be run is; anything else is wrong in the params.
func inputFileError(path string, err error) *Error {
	if e := fileError(err); e != nil {
		return e
	}
	e := Invalid("/stdin/file", "%s cannot be read (%s); give a regular file that is there", path, errnoText(err))
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		e.Code = CodePermissionDenied
		e.Message = fmt.Sprintf("%s cannot be read (%s); make it readable, or give another file", path, errnoText(err))
	}
	e.Path, e.Errno = path, errnoText(err)
	return e
}

func outputFileError(path string, err error) *Error {
	if e := fileError(err); e != nil {
		return e
	}
	e := errorf(CodeOutputFileError, "%s cannot be written (%s); give a regular file in a directory that is there and may be written to", path, errnoText(err))
	e.Path, e.Errno = path, errnoText(err)
	return e
}

// checkFiles refuses names that no file can have.
func (s *Spec) checkFiles() *Error {
	for pointer, name := range map[string]string{"/stdin/file": s.StdinFile, "/stdoutFile": s.StdoutFile, "/stderrFile": s.StderrFile} {
		if strings.ContainsRune(name, 0) {
			return Invalid(pointer, "must not contain a NUL character")
		}
	}
	return nil
}

// pipeStreams are the streams of a pipe job: those outputs that go nowhere else.
func (s *Spec) pipeStreams() (all []Stream) {
	if s.StdoutFile == "" {
		all = append(all, Stdout)
	}
	if s.Stderr != StderrMerge && s.Stderr != StderrDiscard && s.StderrFile == "" {
		all = append(all, Stderr)
	}
	return all
}

// errorStream is where the job's own complaints can be read; "" if nowhere.
func (s *Spec) errorStream(mode Mode) Stream {
	switch {
	case mode == ModePTY:
		return PTY
	case s.Stderr == StderrMerge && s.StdoutFile == "":
		return Stdout
	case slices.Contains(s.pipeStreams(), Stderr):
		return Stderr
	}
	return ""
}

// forgetText lets go of the input's text, which the job has: it may be as long as a
// message, and a job's spec is kept as long as its output.
func (s *Spec) forgetText() {
	if s.StdinText != nil {
		s.StdinText = new(string)
	}
	s.Asker = ""
}

// noStreams is why there is nothing to be seen of a job whose output goes to files.
const noStreams = "this job has no stream: all that it writes goes to files; look into those"

// noStream is why there is nothing of a stream that the job does not have.
func (o *outputs) noStream(pointer string, name Stream) *Error {
	file := map[Stream]string{Stdout: o.j.spec.StdoutFile, Stderr: o.j.spec.StderrFile}[name]
	if file == "" {
		return Invalid(pointer, "this job has no stream %q; it has %s", name, o.j.waits.streamNames())
	}
	return Invalid(pointer, "this job has no stream %q, which goes to the file %s: look into that; it has %s", name, file, o.j.waits.streamNames())
}

// tooLong refuses a command line that the system does not take. Linux takes 128 KiB
// in one argument, and in all, with the environment, a quarter of its stack's limit.
func tooLong(p plan) *Error {
	pointer := "/argv"
	if p.shell != "" {
		pointer = "/command"
	}
	return Invalid(pointer, "the system takes no command line of this length; shorten it or the environment, or give the long part as stdin {text}")
}
