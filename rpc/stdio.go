package rpc

import (
	"encoding/json"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// setStdio sets the job's standard descriptors in its spec.
func setStdio(spec *jobs.Spec, p *schema.JobStartParams) error {
	spec.StdoutFile, spec.StderrFile = or(p.StdoutFile, ""), or(p.StderrFile, "")
	switch {
	case p.Stdin == nil:
	case p.Stdin[0] == '{':
		var c schema.StdinContent
		if err := json.Unmarshal(p.Stdin, &c); err != nil {
			return err
		}
		spec.StdinText, spec.StdinFile = c.Text, or(c.File, "")
	default:
		var word schema.StdinKeyword
		if err := json.Unmarshal(p.Stdin, &word); err != nil {
			return err
		}
		spec.OpenStdin = word == schema.StdinKeywordOpen
	}
	p.Stdin = nil // It may be long, and the params live as long as the request.
	return nil
}

// checkFiles refuses files into which nothing would be written.
func checkFiles(p *schema.JobStartParams, pipe bool) error {
	refuse := func(member, why string) error {
		return invalidParams(schema.FieldError{Pointer: "/" + member, Message: member + " " + why})
	}
	const needsPipe = `needs "mode": "pipe"; output to a terminal is in the stream pty`
	target := or(p.Stderr, schema.StderrTargetSeparate)
	switch {
	case !pipe && p.StdoutFile != nil:
		return refuse("stdoutFile", needsPipe)
	case !pipe && p.StderrFile != nil:
		return refuse("stderrFile", needsPipe)
	case p.StderrFile != nil && target != schema.StderrTargetSeparate:
		return refuse("stderrFile", `needs "stderr": "separate"; with `+string(target)+` the file would stay empty`)
	}
	return nil
}
