//go:build linux || darwin

package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"shelld.dev/shelld/internal/safedir"
)

// List returns all sessions, sorted by name. It asks the hosts that are alive for their status.
func (d *Directory) List() ([]Entry, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	all := []Entry{}
	for _, name := range names {
		e, err := d.Show(name)
		if kind, ok := errors.AsType[*Error](err); ok && kind.Kind == NotFound || errors.Is(err, errSwept) {
			continue // It is gone by now.
		}
		if err != nil {
			e = Entry{Name: name, Path: d.path + "/" + name, Err: err}
		}
		all = append(all, e)
	}
	return all, nil
}

// Show returns one session.
func (d *Directory) Show(name string) (Entry, error) {
	f, err := d.folder(name)
	if err != nil {
		return Entry{}, err
	}
	defer f.close()
	e := Entry{Name: name, Path: f.path, Alive: f.alive()}
	e.Info, e.Known = f.info()
	if !e.Alive {
		return e, nil
	}
	conn, a, err := f.ask(request{Verb: verbStatus, V: messageVersion}, d.answer)
	if err != nil {
		e.Err = err
		return e, nil
	}
	_ = conn.Close() // Everything was read.
	e.Status = a.Status
	return e, nil
}

// End asks the host of a session to end, and waits until it has.
func (d *Directory) End(ctx context.Context, name string) error {
	f, err := d.folder(name)
	if errors.Is(err, errSwept) {
		return errorf(NotFound, "the host of the session %s has ended already", name)
	}
	if err != nil {
		return err
	}
	defer f.close()
	lock, err := f.open(lockFile)
	if errors.Is(err, errSwept) {
		return errorf(NotFound, "the host of the session %s has ended already", name)
	}
	if err != nil {
		return err
	}
	if err := safedir.Lock(lock, safedir.Shared); !errors.Is(err, safedir.ErrLocked) {
		_ = lock.Close() // Nothing was written to it.
		return errors.Join(err, errorf(NotFound, "the host of the session %s has ended already", name))
	}
	conn, _, err := f.ask(request{Verb: verbEnd, V: messageVersion}, d.answer)
	if err != nil && !isUnreachable(err) {
		_ = lock.Close() // Nothing was written to it.
		return err
	}
	if err == nil {
		_ = conn.Close() // Everything was read.
	}
	ended := make(chan error, 1)
	go func() {
		err := safedir.Lock(lock, safedir.Shared|safedir.Wait)
		_ = lock.Close() // First: others may want to lock it now.
		ended <- err
	}()
	var late <-chan time.Time
	if isUnreachable(err) { // Either it has ended just now, or its socket is gone.
		late = time.After(d.answer)
	}
	select {
	case err := <-ended:
		return err
	case <-late:
		return fmt.Errorf("the host of the session %s cannot be reached: %w", name, err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Prune deletes the directories of sessions whose hosts have ended. It returns their names, and which ones of another
// machine it has left alone.
func (d *Directory) Prune() (deleted []string, skipped []Skip, err error) {
	names, err := d.names()
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	var errs []error
	for _, name := range names {
		done, err := d.prune(name, false)
		e, ok := errors.AsType[*Error](err)
		switch {
		case ok && e.Kind == Elsewhere:
			skipped = append(skipped, Skip{name, e.Text})
		case err != nil:
			errs = append(errs, err)
		case done:
			deleted = append(deleted, name)
		}
	}
	return deleted, skipped, errors.Join(errs...)
}

// PruneElsewhere deletes the directory of a session of another machine. The caller knows that its host has ended.
func (d *Directory) PruneElsewhere(name string) error {
	done, err := d.prune(name, true)
	if err == nil && !done {
		return errorf(Gone, "the session %s is in use: its host is alive, or being started", name)
	}
	return err
}

// prune deletes the directory of a session unless its host is alive or being started.
func (d *Directory) prune(name string, elsewhere bool) (done bool, err error) {
	f, err := d.folder(name)
	if errors.Is(err, errSwept) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.close()
	if info, ok := f.info(); ok && info.elsewhere() && !elsewhere {
		return false, f.elsewhere(info) // Its lock may not be visible here.
	}
	for _, file := range []string{startingFile, lockFile} {
		lock, err := f.open(file)
		if errors.Is(err, errSwept) || errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer lock.Close()
		if err := safedir.Lock(lock, safedir.Exclusive); err != nil || !f.holds(file, lock) {
			if errors.Is(err, safedir.ErrLocked) {
				err = nil
			}
			return false, f.absolute(err, file)
		}
	}
	return true, f.remove()
}
