// Package follow matches patterns over streams of stored output, with cursors of its own.
package follow
