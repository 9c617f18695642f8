package rpc

import (
	"encoding/json"
	"errors"

	"shelld/jobs"
	"shelld/schema"
)

func (s *Server) envGet(r *request) error {
	var p schema.EnvGetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	return s.environment(r, p.Handle, func(vars []jobs.Variable, _ *jobs.LoginReport) any {
		v := jobs.FindVariable(vars, p.Name)
		if v == nil {
			return schema.EnvGetResult{Name: p.Name}
		}
		of := envVariable(v)
		return schema.EnvGetResult{Name: v.Name, Value: of.Value, Source: &of.Source, Secret: of.Secret}
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

// environment answers with what convert makes of a job's environment, or of that of later
// jobs where handle is absent.
func (s *Server) environment(r *request, handle json.RawMessage, convert func([]jobs.Variable, *jobs.LoginReport) any) error {
	if handle != nil {
		j, err := s.job(handle)
		if err != nil {
			return err
		}
		respond(r, j.Variables(), func(vars []jobs.Variable) any { return convert(vars, nil) })
		return nil
	}
	env := s.mgr.Environment() // as it is in this request's turn
	r.await(func() (any, error) {
		vars, login, refused := env.Variables(r.canceled)
		if refused != nil {
			return nil, refused
		}
		return convert(vars, login), nil
	})
	return nil
}

func (s *Server) envSet(r *request) error {
	var p schema.EnvSetParams
	if err := r.decode(&p); err != nil {
		return withoutValues(err)
	}
	if err := s.globalOnly(p.Handle); err != nil {
		return err
	}
	secret := or(p.Secret, false)
	if refused := s.mgr.SetVariable(p.Name, p.Value, secret); refused != nil {
		return refused
	}
	value := s.mgr.Environment().Tell(p.Value)
	res := schema.EnvSetResult{Status: schema.EnvSetStatusSet, Name: p.Name, Value: &value, Scope: schema.EnvScopeGlobal}
	if jobs.IsSecret(p.Name, secret) {
		res.Value, res.Secret = nil, optional(true)
	}
	r.reply(res)
	return nil
}

func (s *Server) envUnset(r *request) error {
	var p schema.EnvUnsetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if err := s.globalOnly(p.Handle); err != nil {
		return err
	}
	if refused := s.mgr.UnsetVariable(p.Name); refused != nil {
		return refused
	}
	r.reply(schema.EnvUnsetResult{Status: schema.EnvUnsetStatusUnset, Name: p.Name, Scope: schema.EnvScopeGlobal})
	return nil
}

// globalOnly refuses to change the environment of a job that has started.
func (s *Server) globalOnly(handle json.RawMessage) error {
	if handle == nil {
		return nil
	}
	j, err := s.job(handle)
	if err != nil {
		return err
	}
	return j.VariablesAreFixed()
}

// withoutValues takes what was given out of a refusal of params: it may be a secret.
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
