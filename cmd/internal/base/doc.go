// Package base contains code that all commands of the module share: the version, the command line, how stdin and stdout
// are reserved for a protocol, and how text from other programs is shown.
package base
