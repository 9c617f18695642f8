package base

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Explain returns the text of an error for people: if it wraps a path error, only the path and the reason of that error
// remain, without the name of the system call.
func Explain(err error) string {
	text := err.Error()
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path != "" {
		text = strings.Replace(text, path.Error(), path.Path+": "+path.Err.Error(), 1)
	}
	return text
}

// Reason returns why the system call failed, for a caller that names the file itself.
func Reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return err.Error()
}
