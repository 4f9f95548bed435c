package server

import (
	"strings"
	"testing"
)

// The page is named to clients that declare the extension for its type, in the
// handshake or in the request, and is listed to none.
func TestApps(t *testing.T) {
	const declared = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	for _, tt := range []struct {
		capabilities, meta string
		named              bool
	}{
		{`{}`, ``, false},
		{declared, ``, true},
		{`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/x-other"]}}}`, ``, false},
		{`{"extensions":{"io.modelcontextprotocol/ui":7}}`, ``, false},
		{`{}`, strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":`+declared, 1), true},
		{declared, modernMeta, false},
	} {
		c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
		c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"},"capabilities":` + tt.capabilities + `}}`)
		c.receive()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + tt.meta + `}}`)
		if line := c.receive().line; strings.Contains(line, `"_meta":{"ui":{"resourceUri":"ui://coderunner/result"}}`) != tt.named {
			t.Errorf("%s %s: %.300s", tt.capabilities, tt.meta, line)
		}
		c.send(`{"jsonrpc":"2.0","id":3,"method":"resources/list","params":{}}`)
		if line := c.receive().line; strings.Contains(line, "ui://") {
			t.Errorf("listed: %s", line)
		}
		c.send(`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"ui://coderunner/result"}}`)
		line := c.receive().line
		for _, want := range []string{`"mimeType":"text/html;profile=mcp-app"`, "fromPlotly", "--bg:", "ui/initialize", `"prefersBorder":true`} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in the page", want)
			}
		}
		if strings.Contains(line, "https://") || strings.Contains(line, "app.js") {
			t.Error("the page names something outside it")
		}
		c.end()
	}
}
