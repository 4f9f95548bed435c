package httpserve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"coderunner/runners"
)

const (
	exportTime  = 5 * time.Second // bounds the sending of spans, and how long they wait
	exportBatch = 512             // spans
)

// tracer makes spans of requests and runs, where OpenTelemetry's environment variables
// name a collector, and sends them as OTLP/HTTP in JSON; otherwise it does nothing.
// OpenTelemetry's own packages would be more of the binary: see RATIONALE.md.
type tracer struct {
	url     string // "": none
	header  http.Header
	client  *http.Client
	log     *zap.Logger
	about   []otlpAttribute
	sampler sampler

	ended         chan *otlpSpan
	closing, done chan struct{}
}

// newTracer reads the environment.
func newTracer(version string, env func(string) string, log *zap.Logger) (*tracer, error) {
	first := func(kind string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_"+kind), env("OTEL_EXPORTER_OTLP_"+kind))
	}
	to := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); to == "" && base != "" {
		to = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if off, _ := strconv.ParseBool(env("OTEL_SDK_DISABLED")); off || to == "" || env("OTEL_TRACES_EXPORTER") == "none" {
		return &tracer{}, nil
	}
	if u, err := url.Parse(to); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %q is not an http or https URL", to)
	}
	if p := first("PROTOCOL"); p == "grpc" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not offered: use http/json, for which collectors listen on port 4318", p)
	}
	t := &tracer{
		url: to, header: http.Header{"Content-Type": {"application/json"}}, client: &http.Client{Timeout: exportTime}, log: log,
		sampler: newSampler(env("OTEL_TRACES_SAMPLER"), env("OTEL_TRACES_SAMPLER_ARG")),
		ended:   make(chan *otlpSpan, 4*exportBatch), closing: make(chan struct{}), done: make(chan struct{}),
	}
	about := map[string]string{"service.name": "coderunner", "service.version": version}
	eachPair(env("OTEL_RESOURCE_ATTRIBUTES"), func(name, value string) { about[name] = value })
	about["service.name"] = cmp.Or(env("OTEL_SERVICE_NAME"), about["service.name"])
	for name, value := range about {
		t.about = append(t.about, textAttribute(name, value))
	}
	eachPair(first("HEADERS"), t.header.Set)
	go t.export()
	return t, nil
}

// eachPair reads a list such as "a=b,c=d%20e".
func eachPair(list string, f func(name, value string)) {
	for pair := range strings.SplitSeq(list, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
				f(strings.TrimSpace(name), plain)
			}
		}
	}
}

// close sends what is left.
func (t *tracer) close() {
	if t.url == "" {
		return
	}
	close(t.closing)
	<-t.done
	t.client.CloseIdleConnections()
}

// begin begins a span below another one, or returns nil if it is not to be sent.
func (t *tracer) begin(above traceparent, name string, kind int, at time.Time, attributes ...otlpAttribute) *otlpSpan {
	if above.trace == "" {
		above.trace = fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	}
	if !t.sampler.takes(above) {
		return nil
	}
	return &otlpSpan{TraceID: above.trace, ParentID: above.span, SpanID: fmt.Sprintf("%016x", rand.Uint64()|1),
		Name: name, Kind: kind, Start: nanos(at), Attributes: attributes}
}

// end ends a span. If the collector is too slow it is dropped.
func (t *tracer) end(s *otlpSpan) {
	s.End = nanos(time.Now())
	select {
	case t.ended <- s:
	default:
	}
}

// request begins the span of a request. The caller ends it.
func (t *tracer) request(r *http.Request) (context.Context, func(status int)) {
	if t.url == "" || r.URL.Path != "/mcp" {
		return r.Context(), func(int) {}
	}
	above := parseTraceparent(r.Header.Get("Traceparent"))
	span := t.begin(above, r.Method+" /mcp", kindServer, time.Now(),
		textAttribute("http.request.method", r.Method), textAttribute("url.path", "/mcp"))
	if span == nil {
		above.dropped = true
		return context.WithValue(r.Context(), traceparent{}, above), func(int) {}
	}
	return context.WithValue(r.Context(), traceparent{}, traceparent{trace: span.TraceID, span: span.SpanID}), func(status int) {
		span.Attributes = append(span.Attributes, numberAttribute("http.response.status_code", int64(status)))
		if status >= http.StatusInternalServerError {
			span.Status = otlpStatus{statusError, strconv.Itoa(status)}
		}
		t.end(span)
	}
}

// run begins the span of a run, below the request's or the traceparent of its message.
func (t *tracer) run(ctx context.Context, parent string, r *run) *otlpSpan {
	above := parseTraceparent(parent)
	if above.trace == "" {
		above, _ = ctx.Value(traceparent{}).(traceparent)
	}
	if t.url == "" {
		return nil
	}
	session := r.session != ""
	return t.begin(above, "run_code", kindInternal, r.arrived, textAttribute("coderunner.language", string(r.language)),
		otlpAttribute{"coderunner.session", otlpValue{Bool: &session}})
}

// ran ends the span of a run.
func (t *tracer) ran(r *run, out *runners.Outcome, err error) {
	span := r.span
	if span == nil {
		return
	}
	if !r.begun.IsZero() {
		span.Events = []otlpEvent{{nanos(r.begun), "begun"}}
	}
	switch {
	case err != nil:
		span.Status = otlpStatus{statusError, "the program was not run"}
	case out != nil:
		span.Attributes = append(span.Attributes, textAttribute("coderunner.status", string(out.Status)),
			numberAttribute("coderunner.prepare_ms", out.Usage.PrepareMS), numberAttribute("coderunner.run_ms", out.Usage.RunMS))
		if out.Status != runners.Succeeded {
			span.Status = otlpStatus{statusError, string(out.Status)}
		}
	}
	t.end(span)
}

// call begins the span of a tool's call, below its run's.
func (t *tracer) call(above *otlpSpan, server, tool string) (ended func(status string)) {
	if above == nil {
		return func(string) {}
	}
	span := &otlpSpan{TraceID: above.TraceID, ParentID: above.SpanID, SpanID: fmt.Sprintf("%016x", rand.Uint64()|1), Name: "tools/call " + server + "." + tool,
		Kind: kindClient, Start: nanos(time.Now()), Attributes: []otlpAttribute{textAttribute("coderunner.server", server), textAttribute("gen_ai.tool.name", tool)}}
	return func(status string) {
		if status != "ok" {
			span.Status = otlpStatus{statusError, status}
		}
		t.end(span)
	}
}

// export sends spans in batches until the tracer is closed.
func (t *tracer) export() {
	defer close(t.done)
	tick := time.NewTicker(exportTime)
	defer tick.Stop()
	var batch []*otlpSpan
	for closing := false; !closing; {
		send := false
		select {
		case s := <-t.ended:
			batch = append(batch, s)
			send = len(batch) >= exportBatch
		case <-tick.C:
			send = true
		case <-t.closing:
			for closing, send = true, true; len(t.ended) > 0; {
				batch = append(batch, <-t.ended)
			}
		}
		if send && len(batch) > 0 {
			if err := t.post(batch); err != nil {
				t.log.Warn("send spans", zap.Error(err))
			}
			batch = nil
		}
	}
}

func (t *tracer) post(spans []*otlpSpan) error {
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": t.about},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "coderunner"}, "spans": spans}},
	}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = t.header
	answer, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", answer.Status)
	}
	return nil
}
