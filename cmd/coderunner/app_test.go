package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

type appProgram struct{ language, code string }

// appPrograms make results of every kind that the page shows. URL is a server
// that nothing may reach.
var appPrograms = []appProgram{
	{"python", `import csv, random
random.seed(1)
print("three lines\nof plain\noutput")
with open("sales.csv", "w") as f:
    w = csv.writer(f)
    w.writerow(["city", "sales", "note"])
    w.writerows([["Lagos", 120, 'a "quoted", text'], ["Lima", 35, ""], ["Oslo", 7, "cold"]])
with open("model.bin", "wb") as f: f.write(bytes(range(256)) * 90)
x = list(range(24))
display({"application/vnd.plotly.v1+json": {"data": [
    {"type": "scatter", "mode": "lines", "name": "measured", "x": x, "y": [i * i / 9 + random.random() * 8 for i in x]},
    {"type": "scatter", "mode": "markers", "name": "model", "x": x, "y": {"dtype": "i2", "bdata": __import__("base64").b64encode(__import__("struct").pack("<24h", *[i * i // 9 for i in x])).decode()}}],
    "layout": {"title": {"text": "Growth"}, "xaxis": {"title": {"text": "week"}}, "yaxis": {"title": {"text": "visits"}}}}, "text/plain": "Figure"}, raw=True)
display({"application/vnd.vegalite.v5+json": {"data": {"name": "d"}, "datasets": {"d": [{"city": c, "year": str(y), "n": n} for c, y, n in [("Lagos", 2024, 12), ("Lagos", 2025, 18), ("Lima", 2024, 9), ("Lima", 2025, 7), ("Oslo", 2024, 3), ("Oslo", 2025, 5)]]},
    "mark": {"type": "bar"}, "encoding": {"x": {"field": "city", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}, "color": {"field": "year"}}}, "text/plain": "alt.Chart"}, raw=True)
class Frame:
    def _repr_html_(self): return "<table class='dataframe'><thead><tr><th></th><th>name</th><th>value</th></tr></thead>" + "".join(f"<tr><th>{i}</th><td>n{i}</td><td>{(i * 37) % 11}</td></tr>" for i in range(6)) + "</table>"
    def __repr__(self): return "a frame"
Frame()`},
	{"python", `class Picture:
    def _repr_svg_(self): return "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='80'><script>parent.postMessage('svg', '*')</script><circle cx='40' cy='40' r='30' fill='teal'/><image href='URL/svg'/></svg>"
display(Picture())
class Page:
    def _repr_html_(self): return """<h3 style="margin:0">A page</h3><p>with <b>style</b> and a <a href="URL/link">link</a></p>
<script>document.body.append("scripts ran"); try { top.document.title = "escaped" } catch {} try { parent.document.title = "escaped" } catch {}
for (const w of [parent, top]) w.postMessage({jsonrpc: "2.0", id: 9, method: "tools/call", params: {}}, "*"); fetch("URL/fetch").catch(() => {}); new Image().src = "URL/image"; location = "URL/navigate"</script>
<img src="URL/img"><link rel="stylesheet" href="URL/css"><style>@import url(URL/import); body { background: url(URL/background) }</style>
<iframe src="URL/frame"></iframe><meta http-equiv="refresh" content="0;url=URL/refresh"><form action="URL/form"><button>go</button></form><script>document.forms[0].submit()</script><base href="URL/base/">"""
display(Page())
from IPython.display import HTML
display(HTML("""<h3 style="margin:0">Report</h3><p>with <b>style</b>, a list and a script</p><ul><li>one</li><li>two</li></ul><p id=p></p><script>p.textContent = "scripts ran"</script>"""))
[{"product": f"<b>p{i}</b>", "price": (i * 7919) % 100 / 4, "sold": i} for i in range(12)]`},
	{"typescript", `console.error("a warning"); const rows = [1, 2, 3];
console.log(rows.map((n) => n ** 2)); throw new Error("no such <i>account</i>");`},
}

type appReport struct {
	Asked     []string
	Downloads []struct {
		Type, URI, Name string
		Resource        struct{ Text string }
	}
	Status, Heads, Pres, Files []string
	Images                     []bool
	Charts                     []int
	Frames                     []struct {
		Sandbox   string
		Height    int
		Reachable bool
	}
	Up, Down []string
	Wide     bool
}

// TestApp shows real results in the page of the server, in a real browser if
// there is one, plain and dark. CODERUNNER_SCREENSHOTS is a directory for
// pictures.
func TestApp(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil || os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long, and needs Chromium")
	}
	var reached atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		t.Errorf("the page reached %s", r.URL)
	}))
	defer trap.Close()
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			page := hostPage(t, theme, trap.URL, appPrograms)
			if dir := os.Getenv("CODERUNNER_SCREENSHOTS"); dir != "" {
				browse(t, browser, page, "--screenshot="+filepath.Join(dir, theme+".png"))
			}
			report := browse(t, browser, page, "--dump-dom")
			var seen struct {
				Reports []appReport
				Stray   []any
				Title   string
			}
			if err := json.Unmarshal(report, &seen); err != nil {
				t.Fatalf("%v: %.500s", err, report)
			}
			if len(seen.Reports) != 3 || len(seen.Stray) > 0 || seen.Title != "" || reached.Load() > 0 {
				t.Fatalf("%d reports, other messages %v, title %q", len(seen.Reports), seen.Stray, seen.Title)
			}
			checkCharts(t, seen.Reports[0])
			checkConfined(t, seen.Reports[1])
			if r := seen.Reports[2]; !slices.Equal(r.Status, []string{"failed"}) || !strings.Contains(strings.Join(r.Pres, "\n"), "no such <i>account</i>") || !slices.Contains(r.Pres, "a warning") {
				t.Errorf("a failure: %+v", r)
			}
		})
	}
}

// browse opens a page in the browser and returns what it posts. The page has
// loaded only then, so that a screenshot shows what it has become.
func browse(t *testing.T, browser string, page []byte, actions ...string) (report []byte) {
	posted := make(chan []byte, 1)
	loaded := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	})
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		posted <- body
		close(loaded)
	})
	mux.HandleFunc("GET /loaded", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-loaded:
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=752,2700", "--user-data-dir=" + t.TempDir()}, actions...)
	cmd := exec.CommandContext(ctx, browser, append(args, server.URL)...)
	log, err := cmd.CombinedOutput()
	select {
	case report = <-posted:
	default:
		t.Fatalf("the page posted nothing: %v\n%.3000s", err, log)
	}
	return report
}

func checkCharts(t *testing.T, r appReport) {
	if len(r.Charts) != 2 || r.Charts[0] < 25 || r.Charts[1] < 6 || r.Wide || !slices.Equal(r.Status, []string{"succeeded"}) {
		t.Errorf("charts: %+v", r)
	}
	if !slices.Equal(r.Files, []string{"model.bin", "sales.csv"}) || !slices.Contains(r.Heads, "note") || !slices.Contains(r.Heads, "week") {
		t.Errorf("files and tables: %+v", r)
	}
	var texts, links []string
	for _, d := range r.Downloads {
		texts, links = append(texts, d.Resource.Text), append(links, d.Name)
	}
	if !slices.Contains(links, "model.bin") || !slices.Contains(texts, "city,sales,note\nLagos,120,\"a \"\"quoted\"\", text\"\nLima,35,\nOslo,7,cold\n") {
		t.Errorf("downloads: %+v", r.Downloads)
	}
}

func checkConfined(t *testing.T, r appReport) {
	for _, f := range r.Frames {
		if f.Sandbox != "allow-scripts" || f.Reachable {
			t.Errorf("frame: %+v", f)
		}
	}
	if len(r.Frames) != 2 || r.Frames[1].Height < 60 || r.Frames[1].Height == 120 /* not measured */ || r.Frames[1].Height > 200 {
		t.Errorf("frames: %+v", r.Frames)
	}
	if !slices.Equal(r.Images, []bool{true}) || !slices.Equal(r.Heads, []string{"product", "price", "sold"}) {
		t.Errorf("picture and table: %+v", r)
	}
	if len(r.Up) != 12 || r.Up[0] != "0" || r.Up[11] != "23.75" || r.Down[0] != r.Up[11] {
		t.Errorf("sorted: %v, %v", r.Up, r.Down)
	}
}

// hostPage returns a host with the server's page, the results of the programs
// and the resources that they name.
func hostPage(t *testing.T, theme, trap string, programs []appProgram) []byte {
	s := serveWire(t)
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"},"capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}}}`)
	type contents struct {
		Contents []struct{ URI, MIMEType, Text, Blob string }
	}
	ask := func(method string, params any, result any) {
		t.Helper()
		raw, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		line := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, method, raw)).line
		var a struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.Result == nil || json.Unmarshal(a.Result, result) != nil {
			t.Fatalf("%s: %v: %.300s", method, err, line)
		}
	}
	var list struct {
		Tools []struct {
			Name string
			Meta struct{ UI struct{ ResourceURI string } } `json:"_meta"`
		}
	}
	ask("tools/list", map[string]any{}, &list)
	var page contents
	for _, tool := range list.Tools {
		if tool.Name == "run_code" {
			ask("resources/read", map[string]any{"uri": tool.Meta.UI.ResourceURI}, &page)
		}
	}
	data := struct {
		Theme     string         `json:"theme"`
		Page      string         `json:"page"`
		Results   []any          `json:"results"`
		Resources map[string]any `json:"resources"`
	}{theme, page.Contents[0].Text, nil, map[string]any{}}
	for _, p := range programs {
		var result json.RawMessage // whose order of names stays
		ask("tools/call", map[string]any{"name": "run_code", "arguments": map[string]any{"language": p.language, "code": strings.ReplaceAll(p.code, "URL", trap)}}, &result)
		data.Results = append(data.Results, result)
		var shown struct {
			StructuredContent struct{ Displays []struct{ URI string } }
		}
		if err := json.Unmarshal(result, &shown); err != nil {
			t.Fatal(err)
		}
		for _, d := range shown.StructuredContent.Displays {
			if d.URI != "" {
				var c struct{ Contents []any }
				ask("resources/read", map[string]any{"uri": d.URI}, &c)
				data.Resources[d.URI] = c.Contents[0]
			}
		}
	}
	return inHost(t, data)
}

// inHost returns the host with what it is told.
func inHost(t *testing.T, data any) []byte {
	host, err := os.ReadFile(filepath.Join("testdata", "app", "host.html"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(data) // which escapes "<", so that it fits into a script element
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(host, []byte("DATA"), raw, 1)
}
