//go:build !linux && !darwin

package session

import (
	"context"
	"errors"
)

// errUnsupported is the error of all methods on this system.
var errUnsupported = &Error{
	Kind: Unsupported, Err: errors.ErrUnsupported,
	Text: "there are no sessions on this system: a client's stdin and stdout cannot be handed over to another process here; use shelld serve",
}

// New returns an error.
func (d *Directory) New() (string, error) { return "", errUnsupported }

// Connect returns an error.
func (d *Directory) Connect(Call) (*Link, error) { return nil, errUnsupported }

// List returns an error.
func (d *Directory) List() ([]Entry, error) { return nil, errUnsupported }

// Show returns an error.
func (d *Directory) Show(string) (Entry, error) { return Entry{}, errUnsupported }

// End returns an error.
func (d *Directory) End(context.Context, string) error { return errUnsupported }

// Prune returns an error.
func (d *Directory) Prune() ([]string, []Skip, error) { return nil, nil, errUnsupported }

// PruneElsewhere returns an error.
func (d *Directory) PruneElsewhere(string) error { return errUnsupported }
