package rpc

import (
	"encoding/json"
	"errors"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

func (s *Server) envGet(r *request) error {
	var p schema.EnvGetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	return s.environment(r, p.Handle, func(vars []jobs.Variable, _ *jobs.LoginReport) any {
		v := jobs.FindVariable(vars, p.Name)
		if v == nil {
			return schema.EnvGetResult{Name: p.Name, Steers: optional(jobs.Steers(p.Name))}
		}
		of := envVariable(v)
		return schema.EnvGetResult{Name: v.Name, Value: of.Value, Source: &of.Source, Secret: of.Secret, Steers: optional(jobs.Steers(v.Name))}
	})
}

func (s *Server) envList(r *request) error {
	var p schema.EnvListParams
	if err := r.decode(&p); err != nil {
		return err
	}
	return s.environment(r, p.Handle, func(vars []jobs.Variable, login *jobs.LoginReport) any {
		res := schema.EnvListResult{Variables: schema.Map[schema.EnvVariable]{}, Count: int64(len(vars)), Login: loginReport(login)}
		for i := range vars {
			res.Variables[vars[i].Name] = envVariable(&vars[i])
		}
		return res
	})
}

// environment answers with convert's result for a job's environment, or for that of later jobs if handle is absent.
func (s *Server) environment(r *request, handle json.RawMessage, convert func([]jobs.Variable, *jobs.LoginReport) any) error {
	if handle != nil {
		j, err := s.job(handle)
		if err != nil {
			return err
		}
		respond(r, j.Variables(), func(vars []jobs.Variable) any { return convert(vars, nil) })
		return nil
	}
	env := s.mgr.Environment() // the snapshot at this request's turn
	r.await(func() (any, error) {
		vars, login, refused := env.Variables(r.canceled)
		if refused != nil {
			return nil, refused
		}
		return converted(r, vars, nil, func(vars []jobs.Variable) any { return convert(vars, login) })
	})
	return nil
}

func (s *Server) envSet(r *request) error {
	var p schema.EnvSetParams
	if err := r.decode(&p); err != nil {
		return withoutValues(err)
	}
	secret := or(p.Secret, false)
	if p.Handle != nil {
		return s.changeJob(r, p.Handle, p.Name, &p.Value, secret, s.envIsSet(p.Name, p.Value, secret, schema.EnvScopeJob))
	}
	if refused := s.mgr.SetVariable(p.Name, p.Value, secret); refused != nil {
		return refused
	}
	r.reply(s.envIsSet(p.Name, p.Value, secret, schema.EnvScopeGlobal)())
	return nil
}

// envIsSet returns a function that makes the result of env/set. It is called once the variable is set, since the result
// shows the value, which may be a secret by then.
func (s *Server) envIsSet(name, value string, secret bool, scope schema.EnvScope) func() any {
	return func() any {
		told := s.mgr.Environment().Tell(value)
		res := schema.EnvSetResult{Status: schema.EnvSetStatusSet, Name: name, Value: &told, Scope: scope}
		if jobs.IsSecret(name, secret) {
			res.Value, res.Secret = nil, optional(true)
		}
		return res
	}
}

func (s *Server) envUnset(r *request) error {
	var p schema.EnvUnsetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	res := schema.EnvUnsetResult{Status: schema.EnvUnsetStatusUnset, Name: p.Name, Scope: schema.EnvScopeGlobal}
	if p.Handle != nil {
		res.Scope = schema.EnvScopeJob
		return s.changeJob(r, p.Handle, p.Name, nil, false, func() any { return res })
	}
	if refused := s.mgr.UnsetVariable(p.Name); refused != nil {
		return refused
	}
	r.reply(res)
	return nil
}

// changeJob sets or unsets a variable of a job. Only a shell can do that.
func (s *Server) changeJob(r *request, handle json.RawMessage, name string, value *string, secret bool, told func() any) error {
	j, err := s.job(handle)
	if err != nil {
		return err
	}
	pending, refused := j.ChangeVariable(name, value, secret, r.asker(), s.attendee.name)
	if refused != nil {
		return refused
	}
	respond(r, pending, func(struct{}) any { return told() })
	return nil
}

// withoutValues removes the given values from an error about params: they may be secret.
func withoutValues(err error) error {
	var invalid *schema.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	fields := make([]schema.FieldError, len(invalid.Fields))
	for i, f := range invalid.Fields {
		if fields[i] = f; f.Pointer == "/value" {
			fields[i] = schema.FieldError{Pointer: f.Pointer, Message: "value must be a string", Expected: f.Expected}
		}
	}
	return &schema.InvalidError{Fields: fields}
}

func envVariable(v *jobs.Variable) schema.EnvVariable {
	w := schema.EnvVariable{Value: &v.Value, Source: schema.EnvSource(v.Source)}
	if v.Secret {
		w.Value, w.Secret = nil, optional(true)
	}
	return w
}

func loginReport(l *jobs.LoginReport) *schema.LoginReport {
	if l == nil {
		return nil
	}
	return &schema.LoginReport{Shell: optional(l.Shell), Taken: l.Taken, Reason: optional(l.Reason), DurationMs: millis(l.Duration)}
}
