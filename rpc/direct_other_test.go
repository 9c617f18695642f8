//go:build !linux

package rpc_test

import (
	"io"
	"testing"
)

func newPipe(*testing.T) (r *io.PipeReader, w *io.PipeWriter) { return io.Pipe() }
