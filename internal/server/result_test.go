package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"coderunner/internal/answer"
	"coderunner/runners"
)

// helloAs shakes hands under a name.
func (c *client) helloAs(name string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, name))
	c.receive()
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func TestStructured(t *testing.T) {
	for _, tt := range []struct {
		setting Structured
		client  string
		want    bool
	}{
		{"", "cursor-vscode", true}, {StructuredAuto, "claude-ai", true}, {StructuredAuto, "claude-code", false},
		{StructuredAuto, "codex-mcp-client", false}, {StructuredAlways, "claude-code", true}, {StructuredNever, "cursor", false},
	} {
		c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo)), Structured: tt.setting}))
		c.helloAs(tt.client)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		schema := strings.Contains(c.receive().line, "outputSchema")
		c.send(callLine("2", "hi"))
		r := c.receive()
		if got := r.Result.StructuredContent != nil; got != tt.want || schema != tt.want || r.text() != "stdout:\nhi" {
			t.Errorf("%s for %s: schema %v, structured content %v, text %q; want %v", tt.setting, tt.client, schema, got, r.text(), tt.want)
		}
		// A client of revision 2026-07-28 says its name with each request.
		c.send(strings.Replace(callLine("3", "hi"), `"name":"run_code"`, `"name":"run_code","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2"},"io.modelcontextprotocol/clientCapabilities":{}}`, 1))
		if r := c.receive(); (r.Result.StructuredContent != nil) != (tt.setting == StructuredAlways) {
			t.Errorf("%s for claude-code by _meta: %s", tt.setting, r.line)
		}
		c.end()
	}
}

// What a client gets is small: nothing that is empty, the value once.
func TestResultIsSmall(t *testing.T) {
	var records []string
	for i := range 1000 {
		records = append(records, fmt.Sprintf(`{"id":%d,"name":"item %d","x":%d.5}`, i, i, i*i))
	}
	all := "[" + strings.Join(records, ",") + "]"
	for code, tt := range map[string]struct {
		out  runners.Outcome
		want string // of the structured content; "" is only bounded
	}{
		"1+1":     {runners.Outcome{Status: runners.Succeeded, Result: &runners.Value{Text: "2", JSON: []byte("2")}}, `{"status":"succeeded","result":{"json":2}}`},
		"records": {runners.Outcome{Status: runners.Succeeded, Result: &runners.Value{Text: all, JSON: []byte(all)}}, ""},
		"printed": {runners.Outcome{Status: runners.Succeeded, Stdout: runners.Clip(all+all, 50_000), StdoutTruncated: true, WholeStdout: all + all}, ""},
	} {
		s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
		r := s.result(context.Background(), &tt.out, runners.Request{Code: code})
		structured, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := json.Marshal(r.Content)
		if tt.want != "" && string(structured) != tt.want || len(structured) > 30_000 || len(content) > 30_000 {
			t.Errorf("%s: %d bytes of content, %d structured: %.200s", code, len(content), len(structured), structured)
		}
		t.Logf("%s: %d bytes of content, %d structured", code, len(content), len(structured))
	}
}

// leaves is a runner whose program leaves files.
func leaves(files ...runners.LeftFile) runFunc {
	return func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
		out := &runners.Outcome{Status: runners.Succeeded, Files: files}
		for _, f := range req.Files {
			out.Stdout += f.Path + "=" + string(f.Data)
		}
		return out, nil
	}
}

func TestFilesAreResources(t *testing.T) {
	binary := string([]byte{0, 1, 255})
	big := strings.Repeat("é,1\n", 1000)
	c := connect(t, newServer(t, Config{Runners: allLanguages(leaves(
		runners.LeftFile{Path: "dir/a b.csv", MIME: "text/csv", Size: 4, SHA256: "12ab", Data: []byte("x,y\n")},
		runners.LeftFile{Path: "big.csv", MIME: "text/csv", Size: int64(len(big)), Data: []byte(big)},
		runners.LeftFile{Path: "x.bin", MIME: "application/octet-stream", Size: 3, Data: []byte(binary)},
		runners.LeftFile{Path: "evil\n- x", MIME: "inode/fifo"},
		runners.LeftFile{Path: "huge", MIME: "application/octet-stream", Size: 1 << 30},
	))}))
	defer c.end()
	c.hello()
	c.send(callLine("1", "x"))
	r := c.receive()
	files := r.Result.StructuredContent.Files
	if len(files) != 5 || files[0].Text != "x,y\n" || files[1].Text != "" || files[4].URI != "" {
		t.Fatalf("files %+v", files)
	}
	want := "files:\n- dir/a b.csv (text/csv, 4 B) " + files[0].URI + "\n  x,y\n- big.csv (text/csv, 5.0 kB) " + files[1].URI +
		"\n- x.bin (application/octet-stream, 3 B) " + files[2].URI +
		"\n- \"evil\\n- x\" (inode/fifo, 0 B)\n- huge (application/octet-stream, 1.1 GB), not kept: too large"
	if r.text() != want {
		t.Errorf("text:\n%s\nwant:\n%s", r.text(), want)
	}
	if strings.Count(r.line, `"resource_link"`) != 2 || !strings.Contains(r.line, `/dir/a%20b.csv"`) {
		t.Errorf("links: %s", r.line)
	}
	for i, want := range map[int]string{0: `"text":"x,y\n"`, 2: `"blob":"` + base64.StdEncoding.EncodeToString([]byte(binary)) + `"`} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":%q}}`, files[i].URI))
		if line := c.receive().line; !strings.Contains(line, want) {
			t.Errorf("read %s: %s", files[i].URI, line)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"resources/list"}`)
	if line := c.receive().line; strings.Count(line, `"uri":"runner://runs/`) != 3 || !strings.Contains(line, `"coderunner/sha256":"12ab"`) {
		t.Errorf("resources/list: %s", line)
	}
	// The next call takes them by their URI.
	c.send(strings.Replace(callLine("4", "x"), `"arguments":{`, `"arguments":{"files":[{"path":"in.csv","uri":"`+files[1].URI+`"}],`, 1))
	if got := c.receive(); !strings.HasPrefix(got.text(), "stdout:\nin.csv="+big[:100]) {
		t.Errorf("by its URI: %.200s", got.line)
	}
	c.send(strings.Replace(callLine("5", "x"), `"arguments":{`, `"arguments":{"files":[{"path":"in.csv","uri":"runner://runs/nowhere-1/x"}],`, 1))
	if got := c.receive().text(); !strings.Contains(got, "not a resource of this server") {
		t.Errorf("an unknown URI: %s", got)
	}
}

// The store forgets the oldest runs.
func TestStoreIsBounded(t *testing.T) {
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	var uris []string
	for range 2 * maxKeptRuns {
		r := s.store.begin()
		uris = append(uris, r.Keep("a", "text/plain", "", []byte("x")))
		s.store.keep(r)
	}
	for i, uri := range uris {
		if _, ok := s.store.data(uri); ok != (i >= maxKeptRuns) {
			t.Errorf("run %d is kept: %v", i, ok)
		}
	}
	for range 5 {
		r := s.store.begin()
		r.Keep("big", "application/zip", "", make([]byte, maxKeptBytes/3))
		s.store.keep(r)
	}
	if n := len(s.mcp.ListResources()); n != 3+2 /* the environment and the page, too */ || s.store.bytes > maxKeptBytes {
		t.Errorf("%d resources with %d bytes", n, s.store.bytes)
	}
}

// A stream that is cut can be read whole, and the mark has the true number.
func TestWholeOutputIsAResource(t *testing.T) {
	whole := strings.Repeat("0123456789", 9300)
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	out := &runners.Outcome{Status: runners.Succeeded, Stdout: runners.Clip(whole, 50_000), StdoutTruncated: true, WholeStdout: whole}
	kept := s.store.begin()
	text := answer.New(out, runners.Request{}, s.config.Limits, kept).Text()
	s.store.keep(kept)
	_, mark, _ := strings.Cut(text, "\n… ")
	var cut int
	var uri string
	if _, err := fmt.Sscanf(mark, "%d bytes cut; all: %s …", &cut, &uri); err != nil {
		t.Fatalf("%.200s: %v", mark, err)
	}
	shown := len(text) - len("stdout:\n") - len(fmt.Sprintf("\n… %d bytes cut; all: %s …\n", cut, uri))
	if data, ok := s.store.data(uri); !ok || string(data) != whole || shown+cut != len(whole) || strings.Count(text, "cut") != 1 {
		t.Errorf("%d bytes shown, %d cut, %d kept under %s", shown, cut, len(data), uri)
	}
}
