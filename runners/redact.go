package runners

import "encoding/json"

// Redact replaces text in all that an outcome shows: streams, result, error, and
// what the program displays as text. Images and files stay as they are.
func (o *Outcome) Redact(replace func(string) string) {
	for _, s := range []*string{&o.Stdout, &o.Stderr, &o.WholeStdout, &o.WholeStderr} {
		*s = replace(*s)
	}
	if v := o.Result; v != nil {
		text := replace(v.Text)
		if v.JSON != nil {
			if changed := json.RawMessage(replace(string(v.JSON))); json.Valid(changed) {
				v.JSON = changed
			} else {
				v.JSON = nil
			}
		}
		v.Text = text
	}
	if e := o.Error; e != nil {
		for _, s := range []*string{&e.Type, &e.Message, &e.Traceback, &e.Hint} {
			*s = replace(*s)
		}
	}
	for i, d := range o.Displays {
		if !d.Image() {
			o.Displays[i].Data = []byte(replace(string(d.Data)))
			o.Displays[i].Plain = replace(d.Plain)
		}
	}
}
