package base

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Explain is an error as people read it: if it contains one of a file, only the path and the reason
// of that remain, without the name of Go's function.
func Explain(err error) string {
	text := err.Error()
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path != "" {
		text = strings.Replace(text, path.Error(), path.Path+": "+path.Err.Error(), 1)
	}
	return text
}

// Reason is why the system has refused something, for a caller that names the file in its own words.
func Reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return err.Error()
}
