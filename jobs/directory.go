package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A plan opens a job's directory and holds it until the job runs. The held directory is checked against the directories
// that the client has allowed, and the job starts in it: replacing the path meanwhile changes nothing. The other
// checks, before a start waits for the login shell and after a person has answered, can only refuse the start. If the
// system cannot hold a directory (package proc), there is only the path.

// directory returns the directory in which a job starts, and the name for it that the job gets. The caller must close
// the directory.
func (m *services) directory(cwd string) (*proc.Directory, string, *Error) {
	if m.settings.root == "" && !filepath.IsAbs(cwd) {
		return nil, "", noRoot(cwd, m.settings.noRoot)
	}
	path := m.settings.root
	if cwd != "" && cwd != "." {
		path = from(m.settings.root, cwd) // not cleaned: the kernel resolves .. after a symlink
	}
	d, err := proc.OpenDirectory(path)
	if err != nil {
		if isResource(err) {
			return nil, "", resourceError("a directory", err)
		}
		refused := badDirectory(path, err)
		if refused.Code == CodeBadWorkingDirectory && strings.HasPrefix(cwd, "~") {
			refused.Message = fmt.Sprintf("the working directory %s cannot be used (%s); only a shell expands ~: give the path of the home directory", cwd, errnoText(err))
		}
		return nil, "", refused
	}
	if !m.isAllowed(d.Real()) {
		defer d.Close()
		return nil, "", m.notAllowed("directory", path, d.Real())
	}
	return d, m.nameOf(d, path), nil
}

// nameOf returns the name of its directory that a job gets, in PWD as well: the path with which it was started,
// symlinks included, as a shell does it. If directories are restricted, it is the resolved path, since a symlink may be
// changed to lead elsewhere at any time. It is the resolved path, too, if the cleaned path leads elsewhere.
func (m *services) nameOf(d *proc.Directory, path string) string {
	clean := filepath.Clean(path)
	if d.Real() == "" || len(m.settings.allowedDirs) == 0 && d.IsAt(clean) {
		return clean
	}
	return d.Real()
}

func badDirectory(path string, err error) *Error {
	if errors.Is(err, proc.ErrNoProc) {
		return errNoPlace("working directory", path, err)
	}
	e := errorf(CodeBadWorkingDirectory, "the working directory %s cannot be used (%s); give an existing directory as cwd", path, errnoText(err))
	e.Path, e.Errno = path, errnoText(err)
	return e
}

// noRoot returns the error for a job that starts in the server's own directory, or in one relative to it, if the
// server's directory is not known.
func noRoot(cwd string, err error) *Error {
	e := errorf(CodeBadWorkingDirectory,
		"the directory in which shelld was started cannot be used (%s): start shelld in an existing one, or give a rootDirectory in initialize or an absolute path as cwd", errnoText(err))
	e.Path, e.Errno = cmp.Or(cwd, "."), errnoText(err)
	return e
}

// errNoPlace says that the server can learn nothing about a directory, for no fault of the directory.
func errNoPlace(what, path string, err error) *Error {
	return errorf(CodeInternal, "the server cannot inspect the %s %s: %v", what, path, err)
}

// sameDirectory refuses a start if its path now leads to another directory.
func sameDirectory(asked, now plan) *Error {
	if asked.at.Same(now.at) {
		return nil
	}
	e := errorf(CodeBadWorkingDirectory, "directory %s was replaced while the start was being confirmed; nothing was started; check the directory, then start the job again", now.dir)
	e.Path, e.Errno = now.dir, "another directory is in its place"
	return e
}

// openAllowed opens the directories that the client allows. Only the directories that exist now are allowed: a
// directory that takes over one of their names later is not.
func openAllowed(dirs []string) ([]*proc.Directory, error) {
	var all []*proc.Directory
	for i, dir := range dirs {
		d, err := openOneAllowed(i, dir)
		if err != nil {
			closeDirectories(all)
			return nil, err
		}
		if at := slices.IndexFunc(all, func(o *proc.Directory) bool { return o.Same(d) && o.Real() == d.Real() }); at >= 0 {
			d.Close()
			d = all[at] // Closing it twice does no harm.
		}
		all = append(all, d)
	}
	if err := leavesRoom(all); err != nil {
		closeDirectories(all)
		return nil, err
	}
	return all, nil
}

// reserve is how many descriptors the allowed directories must leave free: starting a job takes fewer.
const reserve = 16

// leavesRoom returns an error if no job could be started while the directories are held.
func leavesRoom(held []*proc.Directory) error {
	if len(held) == 0 {
		return nil
	}
	var all []*os.File
	defer func() {
		for _, f := range all {
			_ = f.Close() // Nothing was written.
		}
	}()
	for range reserve {
		f, err := os.Open(os.DevNull)
		if err != nil {
			if !isResource(err) {
				return nil // The error is not about room.
			}
			e := resourceError("", err)
			e.Message = fmt.Sprintf("%d allowed directories leave too few open files to start a job (%s); allow fewer, or raise the limit (ulimit -n)", len(held), errnoText(err))
			return e
		}
		all = append(all, f)
	}
	return nil
}

func openOneAllowed(i int, dir string) (*proc.Directory, error) {
	if !filepath.IsAbs(dir) {
		return nil, Invalid(fmt.Sprintf("/allowedDirectories/%d", i), "the allowed directory %q must be absolute", dir)
	}
	d, err := proc.OpenDirectory(dir)
	switch {
	case err == nil:
		return d, nil
	case isResource(err):
		e := resourceError("", err)
		e.Message = fmt.Sprintf("allowed directory number %d cannot be opened (%s); allow fewer, or raise the limit on open files (ulimit -n)", i+1, errnoText(err))
		return nil, e
	case errors.Is(err, proc.ErrNoProc):
		return nil, errNoPlace("allowed directory", dir, err)
	}
	e := errorf(CodeBadWorkingDirectory, "the allowed directory %s cannot be used (%s); create it first, or leave it out", dir, errnoText(err))
	e.Path, e.Errno = dir, errnoText(err)
	return nil, e
}

func closeDirectories(all []*proc.Directory) {
	for _, d := range all {
		d.Close()
	}
}

// isAllowed reports whether a path without symlinks lies in an allowed directory that is still at its place.
func (m *services) isAllowed(real string) bool {
	inside := func(d *proc.Directory) bool {
		if !d.Holds(real) {
			return false
		}
		stays, err := d.Stays()
		return stays && err == nil
	}
	return len(m.settings.allowedDirs) == 0 || slices.ContainsFunc(m.settings.allowed, inside)
}

// notAllowed returns the error for a path outside. The error adds the resolved path if that is another one.
func (m *services) notAllowed(what, path, real string) *Error {
	where := path
	if real != "" && real != filepath.Clean(path) {
		where += ", which is " + real + ","
	}
	e := errorf(CodeDirectoryNotAllowed, "the %s %s is outside the allowed directories %s; choose one inside them, or allow it (allowedDirectories of initialize)", what, where, strings.Join(m.settings.allowedDirs, ", "))
	for i, d := range m.settings.allowed {
		if !d.Holds(real) {
			continue
		}
		stays, err := d.Stays()
		if err != nil {
			e.Message = fmt.Sprintf("it is unknown whether the %s %s is still inside the allowed directory %s (%s); try again when that directory is accessible", what, where, m.settings.allowedDirs[i], errnoText(err))
			break
		}
		if !stays {
			e.Message = fmt.Sprintf("the %s %s is not inside the directory that was allowed as %s: that directory was since moved, removed or mounted over, and its replacement is not allowed; start another server to allow it", what, where, m.settings.allowedDirs[i])
			break
		}
	}
	e.Path, e.Valid = path, m.settings.allowedDirs
	return e
}
