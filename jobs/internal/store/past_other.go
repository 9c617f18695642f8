//go:build !unix

package store

const hasModes = false

const notBlocking = 0
