// Package config reads which servers have the tools that programs may call, and the policy
// for these calls: from a file like those of MCP clients, or from a client's own.
//
// It starts nothing. An error in the entry of one server is kept with that, for whoever uses
// it; an error in the file or the policy is returned.
package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"coderunner/internal/clients"
)

// Server is a server of tools, started by a command or reached at a URL; or an API of HTTP.
type Server struct {
	Name    string // as the file has it
	Command string
	Args    []string
	Dir     string
	Env     map[string]string // besides what every server gets
	Sandbox *Sandbox          // nil: it may do what this program may
	URL     string
	Headers map[string]string
	OpenAPI string // a file or a URL with the API's document; "": it speaks MCP

	Credentials map[string]string // of the API, by the names of the document's security schemes
	Secrets     map[string]string // variables that its texts name, with their values

	Disabled []string // tools that are not offered
	Enabled  []string // those that are; nil: all

	Err error // why it cannot be used
}

// Sandbox is what a server that is confined may touch besides itself, the libraries of the
// system, its directory, and what its arguments name, which it may read.
type Sandbox struct {
	Read    []string `json:"read"`
	Write   []string `json:"write"`
	Network bool     `json:"network"`
}

// Config is what a file has.
type Config struct {
	Servers []Server // by name
	Policy  Policy
	LeftOut []string // servers that are this program
}

// Policy says which tools programs may call, by patterns of "server.tool", and how much. The
// zero values of the bounds are the defaults.
type Policy struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`

	Calls    int     `json:"calls"`    // of a run
	Bytes    int64   `json:"bytes"`    // of arguments and results of a run
	Parallel int     `json:"parallel"` // calls of a server at once
	Seconds  float64 `json:"seconds"`  // that one call may take

	// Clients are the policies of clients over HTTP, by the names of their tokens, in place of
	// this one.
	Clients map[string]Policy `json:"clients"`
}

// tables are the names that clients have for the table of servers.
var tables = []string{"mcpServers", "servers", "context_servers", "mcp_servers"}

// maxServers bounds the servers of a file.
const maxServers = 100

// Load reads a file, or the file of the client with that name.
func Load(from string, own Own) (*Config, error) {
	c := &Config{}
	entries := map[string]any{}
	client, err := clients.Find(from)
	if err == nil {
		file, err := client.File()
		if err == nil {
			entries, err = client.Servers(file)
		}
		if err != nil {
			return nil, err
		}
	} else {
		file, err := clients.Read(from)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; or name a client: %s", err, strings.Join(clients.Names(), ", "))
		}
		if err == nil {
			err = c.Policy.read(file["coderunner"])
		}
		if err != nil {
			return nil, err
		}
		found := false
		for _, name := range tables {
			table, ok := file[name].(map[string]any)
			found = found || ok
			maps.Copy(entries, table)
		}
		if !found {
			return nil, fmt.Errorf("%s has none of %s, the table of servers", from, strings.Join(tables, ", "))
		}
	}
	if len(entries) > maxServers {
		return nil, fmt.Errorf("%s has %d servers; at most %d are taken", from, len(entries), maxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s, on := read(name, entries[name], from == "gemini-cli")
		switch {
		case !on:
		case own.is(s):
			c.LeftOut = append(c.LeftOut, name)
		default:
			c.Servers = append(c.Servers, s)
		}
	}
	return c, nil
}

// read decodes the policy.
func (p *Policy) read(value any) error {
	if value == nil {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf(`"coderunner": %w`, err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return fmt.Errorf(`"coderunner": %s; it has allow, ask, deny, calls, bytes, parallel, seconds and clients`, strings.TrimPrefix(err.Error(), "json: "))
	}
	return p.check()
}

// check returns an error for a policy that is none.
func (p *Policy) check() error {
	for name, client := range p.Clients {
		if err := client.check(); err != nil {
			return fmt.Errorf("the client %q: %w", name, err)
		}
	}
	if p.Calls < 0 || p.Bytes < 0 || p.Parallel < 0 || p.Seconds < 0 {
		return errors.New(`"coderunner": a bound is less than 0`)
	}
	for _, pattern := range slices.Concat(p.Allow, p.Ask, p.Deny) {
		if pattern != "*" && !strings.Contains(pattern, ".") || strings.ContainsAny(pattern, `[]\`) {
			return fmt.Errorf(`"coderunner": %q is not a pattern such as "github.get_*", of a server, a dot and a tool, with * and ?`, pattern)
		}
	}
	return nil
}

// entry is a server as the clients have it, under all the names that they use.
type entry struct {
	Type    string          `json:"type"`
	Command json.RawMessage `json:"command"`
	Cmd     string          `json:"cmd"`
	Args    []string        `json:"args"`
	Cwd     string          `json:"cwd"`

	Env         map[string]any `json:"env"`
	Environment map[string]any `json:"environment"`
	Envs        map[string]any `json:"envs"`

	URL       string `json:"url"`
	HTTPURL   string `json:"httpUrl"`
	ServerURL string `json:"serverUrl"`
	URI       string `json:"uri"`
	OpenAPI   string `json:"openapi"`

	Credentials map[string]string `json:"credentials"`
	Headers     map[string]any    `json:"headers"`
	HTTPHeaders map[string]any    `json:"http_headers"`
	EnvHeaders  map[string]string `json:"env_http_headers"`
	Bearer      string            `json:"bearer_token_env_var"`

	Disabled bool  `json:"disabled"`
	Enabled  *bool `json:"enabled"`

	DisabledTools  []string `json:"disabledTools"`
	DisabledTools2 []string `json:"disabled_tools"`
	ExcludeTools   []string `json:"excludeTools"`
	EnabledTools   []string `json:"enabled_tools"`
	IncludeTools   []string `json:"includeTools"`

	Sandbox json.RawMessage `json:"sandbox"`
}

// read returns the server of an entry, and whether it is to be used.
func read(name string, value any, bare bool) (s Server, on bool) {
	s.Name = name
	x := expander{bare: bare, used: map[string]string{}}
	text, err := json.Marshal(x.expanded(value))
	s.Secrets, s.Err = x.used, x.err
	var e entry
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if e.Disabled || e.Enabled != nil && !*e.Enabled {
		return s, false
	}
	if s.Err == nil && err != nil {
		s.Err = errors.New("its entry is not like those of MCP clients: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if s.Err != nil {
		return s, true
	}
	s.URL = cmp.Or(e.URL, e.HTTPURL, e.ServerURL, e.URI)
	s.Headers, s.OpenAPI, s.Credentials = texts(e.Headers, e.HTTPHeaders), e.OpenAPI, e.Credentials
	s.Args, s.Dir, s.Env = e.Args, e.Cwd, texts(e.Env, e.Environment, e.Envs)
	s.Err = cmp.Or(e.command(&s), e.variables(&s), e.sandbox(&s))
	s.Disabled = slices.Concat(e.DisabledTools, e.DisabledTools2, e.ExcludeTools)
	s.Enabled = slices.Concat(e.EnabledTools, e.IncludeTools)
	switch {
	case s.Err != nil:
	case s.Sandbox != nil && s.Command == "":
		s.Err = errors.New(`it has a "sandbox", and is not started by a command`)
	case s.OpenAPI == "" && len(s.Credentials) > 0:
		s.Err = errors.New(`it has "credentials", and no document of OpenAPI that says where they go`)
	case s.OpenAPI != "" && s.Command != "":
		s.Err = errors.New("it has a command and a document of OpenAPI")
	case s.OpenAPI != "" && s.URL == "" && !IsURL(s.OpenAPI):
		s.Err = errors.New("the API of its document needs a \"url\", below which its paths are")
	case s.Command != "" && s.URL != "":
		s.Err = errors.New("it has a command and a URL")
	case s.Command == "" && s.URL == "" && s.OpenAPI == "":
		s.Err = errors.New("it has neither a command nor a URL, nor a document of OpenAPI")
	case e.Type == "sse":
		s.Err = errors.New("it speaks HTTP+SSE, which Streamable HTTP has replaced; see whether the server has another URL, often the one that ends in /mcp")
	case s.URL != "" && !IsURL(s.URL):
		s.Err = errors.New("its URL is not one of HTTP")
	}
	return s, true
}

// IsURL reports whether a text is a URL of HTTP rather than the name of a file.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// sandbox takes the sandbox: true, or an object.
func (e *entry) sandbox(s *Server) error {
	var on bool
	if len(e.Sandbox) == 0 || json.Unmarshal(e.Sandbox, &on) == nil {
		if on {
			s.Sandbox = &Sandbox{}
		}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(e.Sandbox))
	d.DisallowUnknownFields()
	if err := d.Decode(&s.Sandbox); err != nil {
		return errors.New(`its "sandbox" is neither true nor an object with read, write and network`)
	}
	return nil
}

// command takes the command: a text, a list, or an object with a path.
func (e *entry) command(s *Server) error {
	s.Command = e.Cmd
	if len(e.Command) == 0 || string(e.Command) == "null" {
		return nil
	}
	var list []string
	var object struct {
		Path string         `json:"path"`
		Args []string       `json:"args"`
		Env  map[string]any `json:"env"`
	}
	switch {
	case json.Unmarshal(e.Command, &s.Command) == nil:
	case json.Unmarshal(e.Command, &list) == nil && len(list) > 0:
		s.Command, s.Args = list[0], append(list[1:], s.Args...)
	case json.Unmarshal(e.Command, &object) == nil && object.Path != "":
		s.Command, s.Args = object.Path, append(object.Args, s.Args...)
		maps.Copy(s.Env, texts(object.Env))
	default:
		return errors.New(`its "command" is neither a text nor a list of texts`)
	}
	return nil
}

// variables takes the headers whose values are in variables.
func (e *entry) variables(s *Server) error {
	if e.Bearer != "" {
		token, ok := os.LookupEnv(e.Bearer)
		if !ok {
			return unset(e.Bearer)
		}
		s.Headers["Authorization"] = "Bearer " + token
	}
	for name, variable := range e.EnvHeaders {
		value, ok := os.LookupEnv(variable)
		if !ok {
			return unset(variable)
		}
		s.Headers[name] = value
	}
	return nil
}

// texts returns the values of tables, which may be numbers, as texts.
func texts(tables ...map[string]any) map[string]string {
	all := map[string]string{}
	for _, t := range tables {
		for name, value := range t {
			all[name] = fmt.Sprint(value)
		}
	}
	return all
}
