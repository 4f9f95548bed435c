package hint

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Skip leaves out the rows of a language that a function names, until restore is called.
func Skip(language string, skips func(*Row) bool) (restore func()) {
	t := For(language)
	all := t.Rows
	t.Rows = slices.DeleteFunc(slices.Clone(all), skips)
	return func() { t.Rows = all }
}

// Strict reads the rows of a language, and refuses fields that are not known.
func Strict(language string) error {
	data, err := files.ReadFile("rows/" + language + ".toml")
	if err == nil {
		err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(new(Table))
	}
	return err
}

// Head reports whether a row matches the type and the message of an error.
func (r *Row) Head(kind, message string) bool {
	head := *r
	head.traceback, head.last, head.source, head.Needs = nil, nil, nil, nil
	_, ok := head.matches(Failure{Type: kind, Message: message})
	return ok
}
