package rpc

import (
	"encoding/base64"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/screen"
)

func (s *Server) jobWrite(r *request) error {
	var p schema.JobWriteParams
	if err := r.decode(&p); err != nil {
		return err
	}
	in, err := s.input(&p)
	if err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	in.Asker, in.Owner = r.asker(), s.attendee.name
	r.release = j.Hold()
	pending, refused := j.Write(in)
	if refused != nil {
		return refused
	}
	answer := respondNow[jobs.WriteResult, schema.JobWriteResult]
	if p.Wait != nil {
		answer = respond
	}
	answer(r, pending, func(res jobs.WriteResult) schema.JobWriteResult {
		return schema.JobWriteResult{BytesWritten: res.BytesWritten, Outcome: outcomePtr(res.Outcome)}
	})
	return nil
}

// input converts the params of a write to the engine's input.
func (s *Server) input(p *schema.JobWriteParams) (in jobs.Input, err error) {
	in = jobs.Input{
		Text: or(p.Input, ""), Keys: p.Keys, AppendNewline: or(p.AppendNewline, false), EOF: or(p.Eof, false),
		Secret: or(p.Secret, false), IfWaiting: or(p.IfWaiting, ""),
	}
	for i, item := range p.Send {
		it, err := sendItem(&item, i)
		if err != nil {
			return in, err
		}
		in.Send = append(in.Send, it)
	}
	if p.Wait != nil {
		in.Wait, err = s.waitSpec(p.Wait, "/wait")
	}
	return in, err
}

func sendItem(item *schema.SendItem, i int) (it jobs.SendItem, err error) {
	it = jobs.SendItem{Text: or(item.Text, ""), Key: or(item.Key, ""), Count: int(or(item.Count, 1)), Paste: item.Paste}
	if item.Base64 != nil {
		if it.Bytes, err = base64.StdEncoding.Strict().DecodeString(*item.Base64); err != nil {
			return it, invalidParams(schema.FieldError{
				Pointer: pointer("/send", i, "base64"), Message: "must be base64 with padding; " + err.Error(), Expected: "base64",
			})
		}
	}
	if item.Mouse != nil {
		it.Mouse, err = mouseEvent(item.Mouse, pointer("/send", i, "mouse"))
	}
	return it, err
}

// mouseEvent converts a mouse event. It adds a default button if one is needed, and refuses a button for the wheel.
func mouseEvent(m *schema.MouseEvent, at string) (*screen.MouseEvent, error) {
	e := &screen.MouseEvent{
		Action: screen.MouseAction(m.Action), Button: screen.MouseButtonName(or(m.Button, "")), Row: int(m.Row), Col: int(m.Col),
	}
	switch e.Action {
	case screen.MousePress, screen.MouseRelease:
		if e.Button == "" {
			e.Button = screen.MouseLeft
		}
	case screen.MouseMove:
	default:
		if e.Button != "" {
			return nil, invalidParams(schema.FieldError{Pointer: at + "/button", Message: "the wheel has no button; leave it out"})
		}
	}
	for _, k := range m.Modifiers {
		switch k {
		case schema.KeyModifierShift:
			e.Shift = true
		case schema.KeyModifierAlt:
			e.Alt = true
		case schema.KeyModifierCtrl:
			e.Ctrl = true
		}
	}
	return e, nil
}
