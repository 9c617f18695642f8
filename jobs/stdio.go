package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A stdio holds the standard descriptors of a pipe job while it is being started: pipes to the server, and files that
// only the program uses.
type stdio struct {
	stdin, stdout, stderr *os.File   // the job's; nil: the null device
	all                   []*os.File // the three above, each file once
	outputs               []output   // our ends of the pipes
	input                 input      // nil: none
}

// openStdio opens the descriptors that a spec requests. It opens all of them before it empties the output files, so a
// start that fails because one cannot be opened has emptied no file.
func (m *services) openStdio(s *Spec, dir string) (*stdio, *Error) {
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

// closeTheirs closes the server's copies of the job's descriptors. The job has its own.
func (c *stdio) closeTheirs() {
	for _, f := range c.all {
		_ = f.Close() // The server has no pending write, whose error could be lost.
	}
}

// closeOurs closes the server's ends of the pipes after a failed start: no job has used them.
func (c *stdio) closeOurs() {
	for _, o := range c.outputs {
		_ = o.src.Close() // No job has used it.
	}
	if c.input != nil {
		_ = c.input.Close() // As above.
	}
}

// theirs adds a file that the job gets to all, and returns it.
func (c *stdio) theirs(f *os.File) *os.File {
	c.all = append(c.all, f)
	return f
}

func (m *services) openStdin(c *stdio, s *Spec, dir string) *Error {
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

func (m *services) openOutputs(c *stdio, s *Spec, dir string) *Error {
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
			c.stderr = c.stdout // both share one file position, so neither overwrites the other
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

// from joins a relative path to a directory. It does not clean the result: only the kernel can resolve a .. after a
// symlink.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// allowFile returns an error for a file outside the directories that the client allowed.
func (m *services) allowFile(real string) error {
	if m.isAllowed(real) {
		return nil
	}
	return m.notAllowed("file", real, real)
}

// textError returns the error for a stdin text that cannot be stored in a file in memory: there is no room now, or the
// server may not create a file of that size (ulimit -f).
func textError(err error) *Error {
	e := resourceError("the text of stdin", err)
	if !isResource(err) && !errors.Is(err, syscall.ENOSPC) {
		e.Retryable = false
		e.Message = fmt.Sprintf("the text of stdin cannot be kept in memory (%s); put it into a file, and give that as stdin", errnoText(err))
	}
	return e
}

// fileError returns the errors that any file can have: it lies outside the allowed directories, or the system is short
// of a resource. For any other error it returns nil.
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

// inputFileError returns the error for a file that cannot be read. Missing read permission gets the same code as
// missing execute permission. Other errors are reported as invalid params.
func inputFileError(path string, err error) *Error {
	if e := fileError(err); e != nil {
		return e
	}
	e := Invalid("/stdin/file", "%s cannot be read (%s); give an existing regular file", path, errnoText(err))
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
	e := errorf(CodeOutputFileError, "%s cannot be written (%s); give a regular file in an existing, writable directory", path, errnoText(err))
	e.Path, e.Errno = path, errnoText(err)
	return e
}

// tooLong returns the error for a command line that is too long for the system. Linux accepts 128 KiB per argument. All
// arguments and the environment together may take a quarter of the stack limit.
func tooLong(p plan) *Error {
	pointer := "/argv"
	if p.shell != "" {
		pointer = "/command"
	}
	return Invalid(pointer, "the command line is too long for the system; shorten it or the environment, or give the long part as stdin {text}")
}

type output struct {
	name Stream
	src  source
}
