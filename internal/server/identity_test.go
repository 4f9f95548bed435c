package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"coderunner/runners"
)

// modernMeta is the _meta of a request of revision 2026-07-28.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

// A stream of notifications is acknowledged before it ends, under the id as the
// client spelled it, and nothing else comes on it.
func TestListen(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	for _, id := range []string{`"listen:1"`, "9007199254740993"} {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["runner://environment"]},` + modernMeta + `}}`)
		stream := `{"io.modelcontextprotocol/subscriptionId":` + id + `}`
		if r := c.receive(); r.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(r.line, `"_meta":`+stream) || !strings.Contains(r.line, `"notifications":{}`) {
			t.Errorf("acknowledgement: %s", r.line)
		}
		if r := c.receive(); string(r.ID) != id || r.Error != nil || !strings.Contains(r.line, `"_meta":`+stream) || !strings.Contains(r.line, `"resultType":"complete"`) {
			t.Errorf("end of the stream: %s", r.line)
		}
	}
}

func TestDiscover(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`)
	line := c.receive().line
	for _, want := range []string{`"2026-07-28"`, `"ttlMs":300000`, `"cacheScope":"private"`, `"instructions":"Use run_code`, `"src":"data:image/png;base64,`, `"description":"Runs Python`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{}}`)
	if r := c.receive(); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("without a version: %s", r.line)
	}
	c.send(`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"runner://nowhere",` + modernMeta + `}}`)
	if r := c.receive(); r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.line, `"data":{"uri":"runner://nowhere"}`) {
		t.Errorf("a resource that is not there: %s", r.line)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/list","params":{` + modernMeta + `}}`)
	if line := c.receive().line; !strings.Contains(line, `"ttlMs":0`) || !strings.Contains(line, environmentURI) {
		t.Errorf("resources/list: %s", line)
	}
	// Other results name the server, without its icon.
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"1"},` + modernMeta + `}}`)
	if line := c.receive().line; strings.Contains(line, "image/png") || !strings.Contains(line, `"io.modelcontextprotocol/serverInfo":{`) || len(line) > 400 {
		t.Errorf("a result of %d bytes: %s", len(line), line)
	}
}

// The trace that a request belongs to is in the log line of its run, unless it
// is not one.
func TestTraceIsLogged(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	core, logged := observer.New(zap.InfoLevel)
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo)), Log: zap.New(core)}))
	defer c.end()
	c.hello()
	for id, value := range []string{trace, trace + `\n{}`} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"x"},"_meta":{"traceparent":"%s"}}}`, id, value))
		c.receive()
	}
	runs := logged.FilterMessage("run").All()
	if len(runs) != 2 || runs[0].ContextMap()["traceparent"] != trace || runs[1].ContextMap()["traceparent"] != nil {
		t.Errorf("log: %v", runs)
	}
}

// The description names the compiled packages that are here, also where there are
// many; a list does not wait long for them, and a call not at all.
func TestCompiledPackagesAreDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			takes time.Duration
			names int
		}{{0, 0}, {waitForCompiled / 2, 3}, {time.Minute, 3}, {0, 500}} {
			look := func(context.Context) (names []string) {
				time.Sleep(tt.takes)
				for i := range tt.names {
					names = append(names, fmt.Sprintf("package%d", i))
				}
				return names
			}
			missing := func(context.Context) []string { return []string{"heavy"} }
			c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo)), Compiled: look, Missing: missing}))
			c.hello()
			began := time.Now()
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"x"}}}`)
			c.receive()
			if waited := time.Since(began); waited > 0 {
				t.Errorf("%+v: a call waited %v", tt, waited)
			}
			began = time.Now()
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			line := c.receive().line
			if time.Since(began) > waitForCompiled || strings.Contains(line, "that are here: package0, package1") != (tt.names > 0 && tt.takes < waitForCompiled) || strings.Contains(line, "package50") ||
				!strings.Contains(line, "Not available: heavy.") {
				t.Errorf("%+v: after %v %.3000s", tt, time.Since(began), line)
			}
			c.end()
			time.Sleep(tt.takes)
		}
	})
}

func TestEnvironment(t *testing.T) {
	packages := func(context.Context) (map[string][]string, error) {
		var list []string
		for i := range maxPackages + 5 {
			list = append(list, fmt.Sprintf("p%03d 1.0", i))
		}
		return map[string][]string{"python": list, "npm": {"zod 4.0.0"}}, nil
	}
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo)), Packages: packages, Isolation: "full", Offline: true,
		Policy: runners.Policy{Args: []string{"--allow-net=a.test"}}}))
	defer c.end()
	c.hello()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"runner://environment"}}`)
	var r struct {
		Result struct{ Contents []struct{ Text string } }
	}
	line := c.receive().line
	if err := json.Unmarshal([]byte(line), &r); err != nil || len(r.Result.Contents) != 1 {
		t.Fatalf("%v: %s", err, line)
	}
	var e environment
	if err := json.Unmarshal([]byte(r.Result.Contents[0].Text), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Packages["python"]) != maxPackages || len(e.Packages["npm"]) != 1 || e.More != 5 || !e.Offline || e.Isolation["javascript"] != "full" || e.Permissions[0] != "--allow-net=a.test" ||
		e.Limits["timeout_seconds"] != 30.0 || e.Versions["coderunner"] != "test" || e.Limits["programs_at_once"] == 0.0 {
		t.Errorf("environment: %+v", e)
	}
}
