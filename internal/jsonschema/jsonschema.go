// Package jsonschema replaces github.com/santhosh-tekuri/jsonschema/v6 in this
// program's build: go.work names it. That one compiles the schemas of five drafts of JSON
// Schema whenever a process begins, 5 ms and 1.7 MB of `coderunner version`, and is linked
// only because the MCP library can check arguments with it.
//
// It has what that library calls, on the validator that the library links besides.
//
// Revisit when either library compiles schemas at their first use.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"
)

// UnmarshalJSON reads one value of JSON.
func UnmarshalJSON(r io.Reader) (v any, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal(text, &v)
}

// Compiler holds schemas by their URLs.
type Compiler struct{ docs map[string]any }

// NewCompiler returns a Compiler without schemas.
func NewCompiler() *Compiler { return &Compiler{map[string]any{}} }

// AddResource adds a schema that UnmarshalJSON has read.
func (c *Compiler) AddResource(url string, doc any) error {
	c.docs[url] = doc
	return nil
}

// Compile compiles a schema that was added.
func (c *Compiler) Compile(url string) (*Schema, error) {
	doc, ok := c.docs[url]
	if !ok {
		return nil, fmt.Errorf("compile schema %s: it was not added", url)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", url, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", url, err)
	}
	return &Schema{resolved}, nil
}

// Schema is a compiled schema.
type Schema struct{ resolved *jsonschema.Resolved }

// Validate returns an error if a value that UnmarshalJSON has read does not fit.
func (s *Schema) Validate(v any) error {
	if err := s.resolved.Validate(v); err != nil {
		return &ValidationError{ErrorKind: err}
	}
	return nil
}

// ValidationError is the error of a value that does not fit. It has no causes: its kind
// names the place.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        error
	Causes           []*ValidationError
}

func (e *ValidationError) Error() string { return e.ErrorKind.Error() }
func (e *ValidationError) Unwrap() error { return e.ErrorKind }
