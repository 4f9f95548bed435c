package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/zap"

	"coderunner/internal/tools"
	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// echoTools returns a server over HTTP with two tools that return their text, echo and change.
// The client "restricted" must not call change.
func echoTools(t *testing.T) *tools.Set {
	t.Helper()
	m := mcpserver.NewMCPServer("echo", "1")
	for name, readOnly := range map[string]bool{"echo": true, "change": false} {
		m.AddTool(mcp.NewTool(name, mcp.WithString("text", mcp.Required()), mcp.WithReadOnlyHintAnnotation(readOnly)), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("text", "")), nil
		})
	}
	m.AddTool(mcp.NewTool("who", mcp.WithString("text"), mcp.WithReadOnlyHintAnnotation(true)), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := mcpserver.ElicitationResponse(r.Params.InputResponses, "name")
		if answer == nil {
			schema := object{"type": "object", "properties": object{"name": object{"type": "string"}}}
			return mcpserver.NewInputRequestBuilder("").Elicit("name", mcp.ElicitationParams{Message: "Your name?", RequestedSchema: schema}).ToolResult(), nil
		}
		return mcp.NewToolResultText(fmt.Sprint(answer.Action, " ", answer.Content)), nil
	})
	web := httptest.NewServer(mcpserver.NewStreamableHTTPServer(m))
	t.Cleanup(web.Close)
	set := tools.Open(&config.Config{Servers: []config.Server{{Name: "e", URL: web.URL + "/mcp"}}, Policy: config.Policy{Clients: map[string]config.Policy{"restricted": {Deny: []string{"e.change"}}}}}, tools.Options{Version: "test", Tokens: t.TempDir(), Log: zap.NewNop()})
	t.Cleanup(set.Close)
	return set
}

// callTools calls the tool that is the code, twice, and prints what that led to.
func callTools(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	out := &runners.Outcome{Status: runners.Succeeded}
	for range 2 {
		r, err := req.Tools.Call(ctx, runners.ToolCall{Tool: req.Code, Arguments: json.RawMessage(`{"text": "\"hi\""}`), Line: 7})
		if err != nil {
			out.Stdout += err.Error() + "\n"
		} else {
			out.Stdout += r.Content[0].Text + "\n"
		}
	}
	return out, nil
}

// TestAskAboutTools: a user is asked about a call that may change something, for once or for
// the run, by requests and by results; where nobody can be, it is denied.
func TestAskAboutTools(t *testing.T) {
	const question = `A program (line 7) wants to call the tool "change" of the server "e" with "{\"text\": \"\\\"hi\\\"\"}". Allow it?`
	for name, tt := range map[string]struct {
		capabilities, tool string
		answers            []string
		want               []string
	}{
		"read-only": {`{}`, "e.echo", nil, []string{"\"hi\"\n\"hi\""}},
		"nobody":    {`{}`, "e.change", nil, []string{`denied: e.change needs a user's consent`, `"coderunner": {"allow": ["e.change"]}`}},
		"once":      {`{"elicitation":{}}`, "e.change", []string{`{"action":"accept","content":{"always":false}}`, `{"action":"decline"}`}, []string{"\"hi\"\ndenied: e.change was refused by the user"}},
		"always":    {`{"elicitation":{}}`, "e.change", []string{`{"action":"accept","content":{"always":true}}`}, []string{"\"hi\"\n\"hi\""}},
		"cancel":    {`{"elicitation":{}}`, "e.change", []string{`{"action":"cancel"}`, `{"action":"cancel"}`}, []string{"denied: e.change needs a user's consent: the user gives no answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(callTools)), Ask: true, Tools: echoTools(t)}))
			defer c.end()
			c.send(asking(tt.capabilities))
			c.receive()
			c.send(callLine("1", tt.tool))
			m := c.receive()
			for _, answer := range tt.answers {
				var q struct {
					ID     string
					Params struct{ Message string }
				}
				if err := json.Unmarshal([]byte(m.line), &q); err != nil || q.Params.Message != question {
					t.Fatalf("not the question: %s, %v", m.line, err)
				}
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":%s}`, q.ID, answer))
				m = c.receive()
			}
			for _, want := range tt.want {
				if !strings.Contains(m.text(), want) {
					t.Errorf("%s, want %s", m.line, want)
				}
			}
			if !strings.Contains(m.line, `"calls":2`) {
				t.Errorf("usage has not the calls: %s", m.line)
			}
		})
	}

	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(callTools)), Ask: true, Tools: echoTools(t)}))
	defer c.end()
	c.send(modernCall("1", "e.change", ""))
	line := c.receive().line
	var m struct {
		Result struct {
			RequestState  string
			InputRequests map[string]struct{ Params struct{ Message string } }
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.InputRequests[callKey].Params.Message != question {
		t.Fatalf("not the question: %s, %v", line, err)
	}
	c.send(modernCall("2", "e.change", answering(m.Result.RequestState, `"call":{"action":"accept","content":{"always":true}}`)))
	if m := c.receive(); !strings.Contains(m.text(), "\"hi\"\n\"hi\"") {
		t.Error(m.line)
	}
}

// TestServersAsk: what a server of tools asks its user is passed on as that server's, by
// requests and by results, and the answer is passed back; nobody is not waited for.
func TestServersAsk(t *testing.T) {
	const question = `The server "e", whose tool a program calls, asks: Your name?`
	config := Config{Runners: allLanguages(runFunc(callTools)), Ask: true, Tools: echoTools(t)}
	for capabilities, answers := range map[string][]string{
		`{"elicitation":{}}`: {`{"action":"accept","content":{"name":"Ada"}}`, `{"action":"decline"}`},
		`{}`:                 nil,
	} {
		c := connect(t, newServer(t, config))
		c.send(asking(capabilities))
		c.receive()
		c.send(callLine("1", "e.who"))
		m := c.receive()
		want := "cancel <nil>\ncancel <nil>"
		for _, answer := range answers {
			var q struct {
				ID     string
				Params mcp.ElicitationParams
			}
			if err := json.Unmarshal([]byte(m.line), &q); err != nil || q.Params.Message != question || !strings.Contains(fmt.Sprint(q.Params.RequestedSchema), "name:map[type:string]") {
				t.Fatalf("not the question: %s, %v", m.line, err)
			}
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":%s}`, q.ID, answer))
			m = c.receive()
			want = "accept map[name:Ada]\ndecline <nil>"
		}
		if !strings.Contains(m.text(), want) {
			t.Errorf("%s: %s, want %s", capabilities, m.line, want)
		}
		c.end()
	}

	c := connect(t, newServer(t, config))
	defer c.end()
	c.send(modernCall("1", "e.who", ""))
	for i, answer := range []string{`{"action":"accept","content":{"name":"Ada"}}`, `{"action":"cancel"}`} {
		line := c.receive().line
		var m struct {
			Result struct {
				RequestState  string
				InputRequests map[string]struct{ Params struct{ Message string } }
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.InputRequests[serverKey].Params.Message != question {
			t.Fatalf("not the question: %s, %v", line, err)
		}
		c.send(modernCall(fmt.Sprint(i+2), "e.who", answering(m.Result.RequestState, fmt.Sprintf(`%q:%s`, serverKey, answer))))
	}
	if m := c.receive(); !strings.Contains(m.text(), "accept map[name:Ada]\ncancel <nil>") {
		t.Error(m.line)
	}
}

// TestToolsInTheDescription: a line for each server, 400 bytes at most, and no more than
// clients take; nothing without tools.
func TestToolsInTheDescription(t *testing.T) {
	c := Config{Runners: allLanguages(runFunc(echo))}
	without := description(c)
	c.Tools = echoTools(t)
	if with := description(c); !strings.Contains(with, "Servers:\ne\nPermissions: ") || strings.Contains(without, "other servers") {
		t.Errorf("%s\n\n%s", without, with)
	}
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("server_%d", i))
		if text := toolsText(names, maxToolsText); len(text) > maxToolsText || !strings.Contains(text, "\nserver_0\n") {
			t.Errorf("%d names, %d bytes: %s", len(names), len(text), text)
		}
		if text := toolsText(names, 100); len(text) > 100 || !strings.Contains(text, "tools.describe(") {
			t.Errorf("%d names, %d bytes: %s", len(names), len(text), text)
		}
	}
}

// TestSearchTools: a client finds what its programs may call, where the setting is on.
func TestSearchTools(t *testing.T) {
	set := echoTools(t)
	names := func(c *client) (names []string) {
		c.hello()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		var r struct {
			Result struct {
				Tools []struct {
					Name        string
					Annotations mcp.ToolAnnotation
				}
			}
		}
		if err := json.Unmarshal([]byte(c.receive().line), &r); err != nil {
			t.Fatal(err)
		}
		for _, tool := range r.Result.Tools {
			if names = append(names, tool.Name); tool.Name == "search_tools" && !*tool.Annotations.ReadOnlyHint {
				t.Errorf("%s is not read-only", tool.Name)
			}
		}
		return names
	}
	for _, c := range []Config{{Tools: set}, {SearchTools: true}} {
		c.Runners = allLanguages(runFunc(echo))
		client := connect(t, newServer(t, c))
		if got := names(client); len(got) != 1 {
			t.Errorf("with tools %t, search %t: %q", c.Tools != nil, c.SearchTools, got)
		}
		client.end()
	}
	for _, client := range []string{"", "restricted"} {
		c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo)), Tools: set, SearchTools: true, Client: client}))
		if got := names(c); !slices.Contains(got, "search_tools") {
			t.Errorf("tools: %q", got)
		}
		changed := map[string]string{"": "^e.change: \n$", "restricted": "^No tool has these words.*Servers: e$"}[client]
		for args, want := range map[string]string{
			`{"query":"change"}`:                   changed,
			`{"query":"echo","server":"e"}`:        "^e.echo: \n$",
			`{"query":"echo","detail":"describe"}`: `^e\.echo\(\*, text: str\)\n(?s:.*)Example: e\.echo\(text="text"\)`,
			`{"query":"echo","server":"f"}`:        `^not_found: there is no server "f"; there are e$`,
			`{"query":"echo","detail":"all"}`:      "must be names or describe",
			`{}`:                                   "query",
			`{"query":"echo","words":"echo"}`:      "is not an argument",
		} {
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_tools","arguments":` + args + `}}`)
			if got := c.receive().text(); !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("client %q, %s: %q, want %s", client, args, got, want)
			}
		}
		c.end()
	}
}
