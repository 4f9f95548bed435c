package openapi

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
)

const pets = `{"openapi": "3.1.0", "paths": {
  "/a/{id}": {"get": {"parameters": [
    {"name": "id", "in": "path", "schema": {"type": "string"}}, {"name": "id", "in": "query"}, {"name": "Authorization", "in": "header"},
    {"name": "deep", "in": "query", "style": "deepObject"}, {"name": "form", "in": "query"}, {"name": "joined", "in": "query", "explode": false}]}},
  "/form": {"post": {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"properties": {"x": {}, "y": {}}}}}}}},
  "/files": {"post": {"security": [{}, {"other": []}, {"pair": [], "key": []}], "requestBody": {"content": {"multipart/form-data": {"schema": {"properties": {"file": {"type": "string", "format": "binary"}, "note": {}}}}}}}},
  "/list": {"put": {"requestBody": {"$ref": "#/components/requestBodies/List"}}},
  "/deep": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}}},
  "/loop": {"get": {"parameters": [{"$ref": "#/components/parameters/Loop"}], "responses": 7}},
  "no slash": {"get": {}}, "x-text": "y"},
 "security": [{"token": []}], "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}, "pair": {"type": "http", "scheme": "Basic"}, "key": {"type": "apiKey", "in": "query", "name": "k"}}, "requestBodies": {"List": {"content": {"application/vnd.api+json; x=y": {"schema": {"type": "array"}}}}},
  "parameters": {"Loop": {"$ref": "#/components/parameters/Loop"}},
  "schemas": {"A": {"properties": {"b": {"$ref": "#/components/schemas/B"}, "other": {"$ref": "other.json#/X"}}}, "B": {"items": {"$ref": "#/components/schemas/A"}}}}}`

// TestRequests: arguments stand where the document has them.
func TestRequests(t *testing.T) {
	d, err := Parse([]byte(pets))
	if err != nil {
		t.Fatal(err)
	}
	base, _ := url.Parse("http://h/v1/?key=k")
	operations := map[string]*Operation{}
	for _, o := range d.Operations {
		operations[o.Name] = o
	}
	if len(operations) != 6 {
		t.Errorf("%d operations", len(operations))
	}
	for _, tt := range []struct{ name, arguments, want string }{
		{"get /a/{id}", `{"id": "x y/..", "query_id": 12345678901234567890}`, "GET /v1/a/x%20y%2F..?id=12345678901234567890&key=k "},
		{"get /a/{id}", `{"id": 1, "deep": {"a": 1}, "form": {"b": [1, true]}, "joined": ["c", "d"]}`, "GET /v1/a/1?b=1&b=true&deep%5Ba%5D=1&joined=c%2Cd&key=k "},
		{"get /a/{id}", `{"id": ".."}`, `id is ".."`},
		{"get /a/{id}", `{}`, "a part of the path is missing"},
		{"get /a/{id}", `[]`, "the arguments are not an object"},
		{"post /form", `{"x": "1 2", "y": ["a", "b"]}`, "POST /v1/form?key=k x=1+2&y=a&y=b"},
		{"put /list", `{"body": [1, "<"]}`, `PUT /v1/list?key=k [1,"\u003c"]`},
		{"put /list", `{}`, "PUT /v1/list?key=k "},
		{"post /files", `{"file": "aMOk", "note": "n"}`, "POST /v1/files?k=q&key=k --"},
		{"post /files", `{"file": "hä"}`, "file is a file, and not in base64"},
	} {
		r, err := operations[tt.name].Request(t.Context(), base, json.RawMessage(tt.arguments), map[string]string{"token": "t", "pair": "u:p", "key": "q"})
		got := ""
		if err != nil {
			got = err.Error()
		} else if user, password, _ := r.BasicAuth(); (user+password == "up") != (tt.name == "post /files") || (r.Header.Get("Authorization") == "Bearer t") == (tt.name == "post /files") {
			t.Errorf("%s has %q", tt.name, r.Header)
		} else if got = r.Method + " " + r.URL.RequestURI() + " "; r.Body != nil {
			body, _ := io.ReadAll(r.Body)
			got += string(body)
		}
		if tt.name == "post /files" && err == nil && (!strings.Contains(got, "filename=\"file\"") || !strings.Contains(got, "\r\n\r\nhä\r\n") || !strings.Contains(got, "name=\"note\"\r\n\r\nn\r\n")) {
			t.Errorf("%s: %s", tt.name, got)
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.name, tt.arguments, got, tt.want)
		}
	}
	if got := string(operations["get /deep"].Output); !strings.Contains(got, `"$ref":"#/$defs/A"`) || !strings.Contains(got, `"B":{"items"`) {
		t.Errorf("the output is %s", got)
	}
}

// FuzzParse reads what is not trusted, and makes requests of it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(pets), []byte(`{"id": "x"}`))
	f.Add([]byte("openapi: 3.0.0\npaths: {/: {get: {responses: {200: {}}}}}"), []byte(`{}`))
	f.Add([]byte("openapi: &a [*a]"), []byte(`{"body": 1}`))
	base, _ := url.Parse("http://h/v1")
	f.Fuzz(func(t *testing.T, text, arguments []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		for _, o := range d.Operations {
			if o.Input != nil && !json.Valid(o.Input) || o.Output != nil && !json.Valid(o.Output) {
				t.Errorf("%s: %s, %s", o.Name, o.Input, o.Output)
			}
			if r, err := o.Request(t.Context(), base, arguments, nil); err == nil && (r.URL.Host != "h" || !strings.HasPrefix(r.URL.EscapedPath(), "/v1")) {
				t.Errorf("%s goes to %s", o.Name, r.URL)
			}
		}
	})
}
