// Package openapi turns an OpenAPI 3 document into operations that programs call as tools,
// and their arguments into requests.
//
// It sends nothing, and decides neither where requests go nor with which credentials. A
// document is not trusted: what is read of it is bounded.
//
// # Limits
//
// Bodies are JSON or a form, whose files are arguments in base64; an operation that takes only
// another body is left out. Callbacks,
// links, webhooks and references to other documents are not read.
package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of what is read of a document.
const (
	MaxDocument   = 8 << 20 // bytes
	maxOperations = 500
	maxNodes      = 20_000 // of the schemas of one operation
	maxReferences = 8      // in a row
)

// Document is what was read of one.
type Document struct {
	Server     string // where it says that the operations are; "": it does not
	Operations []*Operation
}

// Operation is one that can be called.
type Operation struct {
	Name, Summary, Description string
	Input, Output              json.RawMessage // JSON Schemas; Output is nil if none is known
	ReadOnly                   bool            // it is a GET or a HEAD

	method, path string
	parameters   map[string]parameter // by the names of their arguments
	ways         []map[string]scheme  // to send credentials, by the names of the schemes
	body         body
}

// parameter is one of an operation.
type parameter struct {
	Name, In, Description, Style string
	Required                     bool
	Explode                      *bool
	Schema                       any
	Content                      map[string]media
}

// body is that of a request: an argument of its own, or one for each of its fields.
type body struct {
	argument string          // "": each field is an argument
	mime     string          // "": there is none
	files    map[string]bool // fields that are files
}

type media struct{ Schema any }

// operation is one as it is written.
type operation struct {
	OperationID, Summary, Description string
	Parameters                        []json.RawMessage
	RequestBody                       json.RawMessage
	Responses                         map[string]json.RawMessage
	Security                          *[]map[string]any // nil: that of the document
}

// source is a document as it is written.
type source struct {
	OpenAPI string
	Servers []struct {
		URL       string
		Variables map[string]struct{ Default string }
	}
	Paths      map[string]map[string]json.RawMessage
	Components map[string]map[string]json.RawMessage
	Security   []map[string]any
}

// Parse reads a document, in JSON or YAML.
func Parse(text []byte) (*Document, error) {
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("the document has more than %d MiB", MaxDocument>>20)
	}
	var s source
	if !json.Valid(text) {
		var tree any
		if err := yaml.Unmarshal(text, &tree); err != nil {
			return nil, fmt.Errorf("the document is neither JSON nor YAML: %w", err)
		}
		var err error
		if text, err = json.Marshal(keyed(tree)); err != nil {
			return nil, fmt.Errorf("the document has what JSON lacks: %w", err)
		}
	}
	if !decode(text, &s) || !strings.HasPrefix(s.OpenAPI, "3.") {
		return nil, errors.New("the document is not one of OpenAPI 3: it has no \"openapi\": \"3.…\" (of an older one, a converter makes one)")
	}
	d := &Document{}
	if len(s.Servers) > 0 {
		d.Server = s.Servers[0].URL
		for name, v := range s.Servers[0].Variables {
			d.Server = strings.ReplaceAll(d.Server, "{"+name+"}", v.Default)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Paths)) {
		for _, method := range []string{"get", "head", "post", "put", "patch", "delete"} {
			if at, ok := s.Paths[path][method]; ok && strings.HasPrefix(path, "/") && len(d.Operations) < maxOperations {
				if o, ok := s.operation(method, path, at); ok {
					d.Operations = append(d.Operations, o)
				}
			}
		}
	}
	if len(d.Operations) == 0 {
		return nil, errors.New("the document has no operation that can be called")
	}
	return d, nil
}

// decode decodes what is of its type, and reports whether the text is JSON.
func decode(text json.RawMessage, into any) bool {
	err := json.Unmarshal(text, into)
	_, other := errors.AsType[*json.UnmarshalTypeError](err) // an extension
	return err == nil || other
}

// keyed returns a tree of YAML whose keys are texts: in responses they are numbers.
func keyed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = keyed(v[name])
		}
	case map[any]any:
		table := make(map[string]any, len(v))
		for name := range v {
			table[fmt.Sprint(name)] = keyed(v[name])
		}
		return table
	case []any:
		for i := range v {
			v[i] = keyed(v[i])
		}
	}
	return value
}

// read decodes a component, or the one that it refers to.
func (s *source) read(text json.RawMessage, into any) bool {
	for range maxReferences {
		var to struct {
			Ref string `json:"$ref"`
		}
		if !decode(text, &to) || to.Ref == "" {
			return decode(text, into)
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(to.Ref, "#/components/"), "/")
		text = s.Components[kind][unescape(name)]
	}
	return false
}

// unescape returns a part of a JSON pointer.
func unescape(part string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(part) }

// operation reads an operation, unless it cannot be called.
func (s *source) operation(method, path string, text json.RawMessage) (*Operation, bool) {
	var w operation
	if !decode(text, &w) {
		return nil, false
	}
	o := &Operation{
		Name: w.OperationID, Summary: w.Summary, Description: w.Description, ReadOnly: method == "get" || method == "head",
		method: strings.ToUpper(method), path: path, parameters: map[string]parameter{},
	}
	if o.Name == "" {
		o.Name = method + " " + path
	}
	var common []json.RawMessage
	decode(s.Paths[path]["parameters"], &common) // of all methods, if there are any
	in := schemas{source: s, properties: map[string]any{}, used: map[string]any{}}
	for _, text := range append(w.Parameters, common...) {
		var p parameter
		if !s.read(text, &p) || p.In == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
			continue
		}
		for _, m := range p.Content {
			p.Schema = m.Schema
		}
		name := p.Name
		if old, taken := o.parameters[name]; taken && old.In == p.In {
			continue // the method's own is meant
		} else if taken {
			name = p.In + "_" + name
		}
		o.parameters[name] = p
		in.add(name, p.Schema, p.Description, p.Required || p.In == "path")
	}
	if w.Security == nil {
		w.Security = &s.Security
	}
	for _, names := range *w.Security {
		way := map[string]scheme{}
		for name := range names {
			var c scheme
			s.read(s.Components["securitySchemes"][name], &c)
			way[name] = c
		}
		o.ways = append(o.ways, way)
	}
	if !o.takeBody(s, w.RequestBody, &in) {
		return nil, false
	}
	o.Input = in.text(map[string]any{"type": "object", "properties": in.properties, "required": in.required})
	out := schemas{source: s, used: map[string]any{}}
	for _, status := range []string{"200", "201", "202", "2XX", "default"} {
		var response struct{ Content map[string]media }
		if text, ok := w.Responses[status]; ok && s.read(text, &response) {
			if _, m := pick(response.Content); m.Schema != nil {
				o.Output = out.text(out.taken(m.Schema))
			}
			break
		}
	}
	return o, true
}

// pick returns the media type of JSON, else of a form.
func pick(content map[string]media) (mime string, m media) {
	for _, mime := range slices.Sorted(maps.Keys(content)) {
		if plain, _, _ := strings.Cut(mime, ";"); plain == "application/json" || strings.HasSuffix(plain, "+json") {
			return plain, content[mime]
		}
	}
	if m, ok := content[multipartType]; ok {
		return multipartType, m
	}
	return formType, content[formType]
}

const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// takeBody reads what an operation takes as the body, and reports whether that can be made.
func (o *Operation) takeBody(s *source, text json.RawMessage, in *schemas) bool {
	var b struct {
		Description string
		Required    bool
		Content     map[string]media
	}
	if text == nil || !s.read(text, &b) || len(b.Content) == 0 {
		return true
	}
	mime, m := pick(b.Content)
	if _, ok := b.Content[mime]; !ok && m.Schema == nil {
		return !b.Required
	}
	o.body.mime = mime
	var object struct {
		Properties map[string]any
		Required   []string
		AllOf      any
	}
	schema, _ := json.Marshal(m.Schema) // it was read
	fields := s.read(schema, &object) && len(object.Properties) > 0 && object.AllOf == nil
	for name := range object.Properties {
		_, taken := o.parameters[name]
		fields = fields && !taken
	}
	if !fields {
		for o.body.argument = "body"; in.properties[o.body.argument] != nil; {
			o.body.argument += "_"
		}
		in.add(o.body.argument, m.Schema, b.Description, b.Required)
		return true
	}
	o.body.files = map[string]bool{}
	for name, schema := range object.Properties {
		if table, ok := schema.(map[string]any); ok && mime == multipartType && table["format"] == "binary" {
			o.body.files[name] = true
			schema = map[string]any{"type": "string", "contentEncoding": "base64", "description": "a file, in base64"}
		}
		in.add(name, schema, "", b.Required && slices.Contains(object.Required, name))
	}
	return true
}
