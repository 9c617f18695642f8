package rpc

import (
	"path/filepath"
	"runtime"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// platformGet returns the platform as initialize does, and the shells. For their versions it may have to run them.
func (s *Server) platformGet(r *request) error {
	var p schema.PlatformGetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	r.await(func() (any, error) {
		shells, refused := s.mgr.Shells(r.canceled)
		if refused != nil {
			return nil, refused
		}
		of := s.platform()
		res := schema.PlatformGetResult{
			Platform: of.OS, Arch: of.Arch, Version: of.Version, Shell: of.Shell, ShellPath: of.ShellPath,
			PathSeparator: *of.PathSeparator, CanonicalLineLimit: of.CanonicalLineLimit,
			CommandSeparator: of.CommandSeparator, EnvironmentPrefix: of.EnvironmentPrefix, Features: of.Features,
			Aliases: s.mgr.Aliases(),
		}
		for _, sh := range shells {
			res.Shells = append(res.Shells, installedShell(sh))
		}
		return res, nil
	})
	return nil
}

func installedShell(sh jobs.ShellInfo) schema.InstalledShell {
	w := schema.InstalledShell{
		Name: sh.Name, Path: sh.Path, Target: optional(sh.Target), Family: schema.ShellFamily(sh.Family),
		Version: optional(sh.Version), Default: optional(sh.Default),
	}
	if syntax, ok := jobs.SyntaxOf(sh.Name); ok {
		w.CommandSeparator, w.EnvironmentPrefix, w.Features = &syntax.Separator, &syntax.Variable, shellFeatures(syntax)
	}
	return w
}

func shellFeatures(s jobs.Syntax) *schema.ShellFeatures {
	return &schema.ShellFeatures{Pipelines: s.Pipelines, Redirects: s.Redirects, BackgroundJobs: s.Jobs, Heredoc: s.HereDocs}
}

// platform returns the facts that are known at once, without running a program.
func (s *Server) platform() schema.Platform {
	shell := s.mgr.DefaultShell()
	p := schema.Platform{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Version: optional(jobs.OSVersion()),
		ShellPath: shell, PathSeparator: optional(string(filepath.Separator)),
	}
	if shell != "" {
		p.Shell = filepath.Base(shell)
		if syntax, ok := jobs.SyntaxOf(shell); ok {
			p.CommandSeparator, p.EnvironmentPrefix, p.Features = &syntax.Separator, &syntax.Variable, shellFeatures(syntax)
		}
	}
	if limit := s.mgr.Platform().CanonicalLineLimit; limit > 0 {
		n := int64(limit)
		p.CanonicalLineLimit = &n
	}
	return p
}
