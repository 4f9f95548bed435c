package httpserve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/tools"
	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// The metrics count what happened, and tell nothing of whose it was.
func TestMetrics(t *testing.T) {
	started, finish := make(chan bool, 2), make(chan bool)
	x := open(t, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		started <- true
		<-finish
		return leave(ctx, req)
	}, func(o *Options) { o.MCP.Concurrency = 1 })
	a, b := x.user(alice), x.user(bob)
	done := make(chan string, 2)
	go func() { done <- a.run("1") }()
	<-started
	go func() { done <- b.run("2") }()
	metric := func(line string) {
		t.Helper()
		for range 1000 {
			if _, text := x.do("GET", "/metrics", "", "Authorization: Bearer "+alice); strings.Contains("\n"+text, "\n"+line+"\n") {
				return
			}
		}
		_, text := x.do("GET", "/metrics", "", "Authorization: Bearer "+alice)
		t.Errorf("no %q in %s", line, text)
	}
	metric("# TYPE coderunner_running gauge")
	metric("coderunner_running 1")
	metric("coderunner_waiting 1")
	metric("coderunner_clients 2")
	var status struct {
		Running, Waiting, Places int
		Client                   string
		Runs                     []row
	}
	if _, text := x.do("GET", "/status.json", "", "Authorization: Bearer "+bob); json.Unmarshal([]byte(text), &status) != nil ||
		status.Running != 1 || status.Waiting != 1 || status.Places != 1 || status.Client != "bob" || len(status.Runs) != 1 || status.Runs[0].State != "waiting" {
		t.Errorf("status %s", text)
	}
	close(finish)
	<-done
	<-done
	metric(`coderunner_runs_total{language="python",status="succeeded"} 2`)
	metric(`coderunner_run_seconds_count{language="python"} 2`)
	metric("coderunner_queue_seconds_count 2")
	metric("coderunner_waiting 0")
	if _, text := x.do("GET", "/metrics", "", "Authorization: Bearer "+alice); strings.Contains(text, "alice") || strings.Contains(text, "bob") {
		t.Error("the metrics name clients")
	}
}

// Spans go to the collector that the environment names, below the client's own.
func TestTraces(t *testing.T) {
	got := make(chan []byte, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" && r.Header.Get("X-Key") == "a b" && r.Header.Get("Content-Type") == "application/json" {
			got <- body
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=a%20b")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api.json" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		fmt.Fprint(w, `{"openapi": "3.1.0", "paths": {"/": {"get": {"operationId": "brew"}}}}`)
	}))
	defer api.Close()
	set := tools.Open(&config.Config{Servers: []config.Server{{Name: "api", OpenAPI: api.URL + "/api.json", URL: api.URL}}}, tools.Options{Log: zap.NewNop()})
	defer set.Close()
	x := open(t, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		_, err := req.Tools.Call(ctx, runners.ToolCall{Tool: "api.brew"})
		if err == nil {
			t.Error("a teapot has brewed")
		}
		return leave(ctx, req)
	}, func(o *Options) { o.MCP.Tools = set })
	x.s.tracer.client.Timeout = 0 // a busy machine loses no span
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	u := x.user(alice)
	u.headers = append(u.headers, "Traceparent: 00-"+trace+"-"+parent+"-01")
	u.run("1")
	if err := x.stop(); err != nil {
		t.Fatal(err)
	}
	close(got) // all have been sent, in one batch or in several
	spans := map[string]otlpSpan{}
	for body := range got {
		var sent struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []otlpAttribute }
				ScopeSpans []struct{ Spans []otlpSpan }
			}
		}
		if err := json.Unmarshal(body, &sent); err != nil || len(sent.ResourceSpans) != 1 || len(sent.ResourceSpans[0].ScopeSpans) != 1 {
			t.Fatalf("%v: %s", err, body)
		}
		if text := string(body); !strings.Contains(text, `"deployment.environment.name"`) || !strings.Contains(text, `"service.name"`) || strings.Contains(text, alice) {
			t.Errorf("sent %s", body)
		}
		for _, s := range sent.ResourceSpans[0].ScopeSpans[0].Spans {
			if s.TraceID == trace {
				spans[s.Name] = s
			}
		}
	}
	request, run, call := spans["POST /mcp"], spans["run_code"], spans["tools/call api.brew"]
	if call.ParentID != run.SpanID || call.Kind != 3 || call.Status.Message != "failed" || call.End < call.Start {
		t.Errorf("the span of the call of a tool: %+v", call)
	}
	if request.ParentID != parent || run.ParentID != request.SpanID || run.SpanID == "" || run.Start == "" || run.End < run.Start || request.Kind != 2 {
		t.Errorf("spans %+v", spans)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := newTracer("", os.Getenv, nil); err == nil || !strings.Contains(err.Error(), "http/json") {
		t.Errorf("grpc: %v", err)
	}
}

// What is recorded is what the parent's maker records, or OTEL_TRACES_SAMPLER's share.
func TestSampler(t *testing.T) {
	const trace, id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, tt := range []struct {
		name, arg, parent string
		want              bool
	}{
		{"", "", "00-" + trace + "-" + id + "-01", true},
		{"", "", "00-" + trace + "-" + id + "-00", false},
		{"", "", "", true},
		{"always_on", "", "00-" + trace + "-" + id + "-00", true},
		{"always_off", "", "00-" + trace + "-" + id + "-01", false},
		{"parentbased_always_off", "", "00-" + trace + "-" + id + "-01", true},
		{"parentbased_always_off", "", "", false},
		{"traceidratio", "0.6", "00-" + trace + "-" + id + "-01", true}, // 0x8448… of 2⁶⁴
		{"traceidratio", "0.5", "00-" + trace + "-" + id + "-01", false},
		{"jaeger_remote", "endpoint=x", "00-" + trace + "-" + id + "-00", false},
	} {
		tracer := &tracer{sampler: newSampler(tt.name, tt.arg)}
		if span := tracer.begin(parseTraceparent(tt.parent), "x", kindInternal, time.Now()); (span != nil) != tt.want {
			t.Errorf("%q, %q, below %q: %+v, want %v", tt.name, tt.arg, tt.parent, span, tt.want)
		}
	}
	for text, want := range map[string]bool{
		"00-" + trace + "-" + id + "-01": true, "01-" + trace + "-" + id + "-01-more": true, "00-" + trace + "-" + id + "-01-more": false,
		"ff-" + trace + "-" + id + "-01": false, "00-" + trace[1:] + "-" + id + "-01": false, "00-" + strings.ToUpper(trace) + "-" + id + "-01": false,
		"00-" + strings.Repeat("0", 32) + "-" + id + "-01": false, "": false, "00-" + trace: false,
	} {
		if p := parseTraceparent(text); (p.span == id) != want {
			t.Errorf("%q: %+v", text, p)
		}
	}
}
