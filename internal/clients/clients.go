// Package clients knows where MCP clients keep their servers, and adds this one to
// their configuration files.
//
// A file is edited as text, so that its comments, order and indentation stay. The
// result is parsed and compared with what the file meant before: an edit that
// changes anything else is refused, with the entry for the user to add.
//
// # Sources
//
// The clients' documentation of their configuration files, November 2026. Comments
// in JSON are parsed by hujson.
package clients

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Client is an MCP client.
type Client struct {
	Name   string
	format format
	file   func() (string, error)
	at     string // the table of servers
	entry  func(command string, args []string) []field
	remote func(url string) []field // nil: it is not documented how a token comes from the environment
}

// Server is what an entry leads to: a command, or the URL of a server whose token is in
// the variable [TokenVariable].
type Server struct {
	Command string
	Args    []string
	URL     string // "": the command
}

// all are the clients, by name.
var all = []*Client{
	{"claude-code", jsonFormat, inHome("CLAUDE_CONFIG_DIR", ".claude.json"), "mcpServers", stdio, overHTTP("url", "${%s}", "http")},
	{"claude-desktop", jsonFormat, inConfig("Claude/claude_desktop_config.json"), "mcpServers", plain, nil},
	{"cline", jsonFormat, inConfig("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"), "mcpServers", plain, nil},
	{"codex", tomlFormat, inHome("CODEX_HOME", ".codex/config.toml"), "mcp_servers", plain, codexHTTP},
	{"copilot-cli", jsonFormat, inHome("COPILOT_HOME", ".copilot/mcp-config.json"), "mcpServers", copilot, nil},
	{"cursor", jsonFormat, inHome("", ".cursor/mcp.json"), "mcpServers", plain, overHTTP("url", "${env:%s}", "")},
	{"gemini-cli", jsonFormat, inHome("", ".gemini/settings.json"), "mcpServers", plain, overHTTP("httpUrl", "$%s", "")},
	{"goose", yamlFormat, inXDG("goose/config.yaml", "Block/goose/config/config.yaml"), "extensions", goose, nil},
	{"lm-studio", jsonFormat, inHome("", ".lmstudio/mcp.json"), "mcpServers", plain, nil},
	{"opencode", jsonFormat, inXDG("opencode/opencode.json", ""), "mcp", openCode, overHTTP("url", "{env:%s}", "remote")},
	{"vscode", jsonFormat, inConfig("Code/User/mcp.json"), "servers", stdio, overHTTP("url", "${env:%s}", "http")},
	{"windsurf", jsonFormat, inHome("", ".codeium/windsurf/mcp_config.json"), "mcpServers", plain, overHTTP("serverUrl", "${env:%s}", "")},
	{"zed", jsonFormat, inXDG("zed/settings.json", "Zed/settings.json"), "context_servers", plain, nil},
}

// Find returns the client with a name.
func Find(name string) (*Client, error) {
	if i := slices.IndexFunc(all, func(c *Client) bool { return c.Name == name }); i >= 0 {
		return all[i], nil
	}
	return nil, fmt.Errorf("unknown client %q; known are %s", name, strings.Join(Names(), ", "))
}

// Names returns the names of all clients.
func Names() (names []string) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// File returns the path of the client's configuration file for this user.
func (c *Client) File() (string, error) { return c.file() }

// Entry returns a configuration file that has nothing but the entry.
func (c *Client) Entry(to Server) (string, error) {
	text, err := c.Edit(nil, to)
	return string(text), err
}

// Edit returns the text of a configuration file with the entry. In an entry that is
// there already only the command or the URL is changed.
func (c *Client) Edit(text []byte, to Server) ([]byte, error) {
	was, err := c.format.parse(text)
	if err != nil {
		return nil, err
	}
	var fields, others []field
	switch {
	case to.URL == "":
		fields = c.entry(to.Command, to.Args)
		if c.remote != nil {
			others = c.remote("")
		}
	case c.remote == nil:
		return nil, fmt.Errorf("%s documents no way to send a token from a variable; add the URL and the token by hand, or use one of %s", c.Name, strings.Join(remoteNames(), ", "))
	default:
		fields, others = c.remote(to.URL), c.entry("", nil)
	}
	if err := c.keepsWay(was, fields, others); err != nil {
		return nil, err
	}
	want, exists, err := merge(was, c.at, fields)
	if err != nil {
		return nil, err
	}
	if exists {
		fields = slices.DeleteFunc(fields, func(f field) bool { return !f.launch })
	}
	edited, err := c.format.edit(text, c.at, fields, exists)
	if err != nil {
		return nil, err
	}
	if now, err := c.format.parse(edited); err != nil || !same(now, want) {
		return nil, fmt.Errorf("%s cannot be edited without changing more than the entry; add it by hand", c.Name)
	}
	return edited, nil
}

// merge returns what a file means with the entry, and whether it has one already.
func merge(was map[string]any, at string, fields []field) (want map[string]any, exists bool, err error) {
	want = map[string]any{}
	maps.Copy(want, was)
	servers, entry := map[string]any{}, map[string]any{}
	for _, level := range []struct {
		name string
		in   map[string]any
		to   map[string]any
	}{{at, want, servers}, {server, servers, entry}} {
		value, there := level.in[level.name]
		from, isTable := value.(map[string]any)
		if there && value != nil && !isTable {
			return nil, false, fmt.Errorf("%q is not a table of names and values", level.name)
		}
		maps.Copy(level.to, from)
		level.in[level.name] = level.to
		exists = isTable
	}
	for _, f := range fields {
		if f.launch || !exists {
			entry[f.key] = f.value
		}
	}
	return want, exists, nil
}

// keepsWay refuses to make an entry one with a command and a URL.
func (c *Client) keepsWay(was map[string]any, fields, others []field) error {
	servers, _ := was[c.at].(map[string]any)
	entry, _ := servers[server].(map[string]any)
	for _, f := range others {
		_, there := entry[f.key]
		if there && f.launch && !slices.ContainsFunc(fields, func(g field) bool { return g.key == f.key }) {
			return fmt.Errorf("there is an entry %q with %q already; remove it first", server, f.key)
		}
	}
	return nil
}

// remoteNames returns the names of the clients that reach a server over HTTP.
func remoteNames() (names []string) {
	for _, c := range all {
		if c.remote != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// TokenVariable is the variable of the client's environment that has the token.
const TokenVariable = "CODE_RUNNER_HTTP_TOKEN"

// overHTTP returns the fields of a client that writes a variable as in reference.
func overHTTP(urlKey, reference, kind string) func(url string) []field {
	return func(url string) (fields []field) {
		if kind != "" {
			fields = append(fields, field{"type", kind, true})
		}
		header := map[string]any{"Authorization": "Bearer " + fmt.Sprintf(reference, TokenVariable)}
		return append(fields, field{urlKey, url, true}, field{"headers", header, true})
	}
}

func codexHTTP(url string) []field {
	return []field{{"url", url, true}, {"bearer_token_env_var", TokenVariable, true}}
}

func plain(command string, args []string) []field {
	return []field{{"command", command, true}, {"args", args, true}}
}

func stdio(command string, args []string) []field {
	return append([]field{{"type", "stdio", true}}, plain(command, args)...)
}

func copilot(command string, args []string) []field {
	return append(append([]field{{"type", "local", true}}, plain(command, args)...), field{"tools", []string{"*"}, false})
}

func goose(command string, args []string) []field {
	return []field{
		{"enabled", true, false}, {"type", "stdio", true}, {"name", server, false},
		{"cmd", command, true}, {"args", args, true}, {"timeout", 300, false},
	}
}

func openCode(command string, args []string) []field {
	return []field{{"type", "local", true}, {"command", append([]string{command}, args...), true}, {"enabled", true, false}}
}

// inHome returns the path of a file below the home directory. A variable that is
// not empty names the directory of the file instead.
func inHome(variable, file string) func() (string, error) {
	return func() (string, error) {
		if dir := os.Getenv(variable); variable != "" && dir != "" {
			return filepath.Join(dir, filepath.Base(file)), nil
		}
		home, err := os.UserHomeDir()
		return filepath.Join(home, filepath.FromSlash(file)), err
	}
}

// inConfig returns the path of a file below the system's directory for
// configurations.
func inConfig(file string) func() (string, error) {
	return func() (string, error) {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, filepath.FromSlash(file)), err
	}
}

// inXDG is inConfig for programs that use ~/.config on macOS, too, and another path
// on Windows, if that is not "".
func inXDG(file, windows string) func() (string, error) {
	switch {
	case runtime.GOOS == "windows" && windows != "":
		return inConfig(windows)
	case runtime.GOOS == "linux":
		return inConfig(file)
	}
	return inHome("", ".config/"+file)
}
