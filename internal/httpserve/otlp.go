package httpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
)

// exportTime bounds the sending of spans.
const exportTime = 5 * time.Second

// exporter sends spans as OTLP/HTTP in JSON. OpenTelemetry's own exporter would add
// twelve megabytes to the binary: see RATIONALE.md.
type exporter struct {
	url    string
	header http.Header
	client *http.Client
	log    *zap.Logger
}

// newExporter returns nil where the environment does not ask for spans.
func newExporter(env func(string) string, log *zap.Logger) (*exporter, error) {
	first := func(names ...string) string {
		for _, n := range names {
			if v := env(n); v != "" {
				return v
			}
		}
		return ""
	}
	to := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); to == "" && base != "" {
		to = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if off, _ := strconv.ParseBool(env("OTEL_SDK_DISABLED")); off || to == "" || env("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if u, err := url.Parse(to); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %q is not an http or https URL", to)
	}
	if p := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p == "grpc" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not offered: use http/json, for which collectors listen on port 4318", p)
	}
	e := &exporter{url: to, header: http.Header{"Content-Type": {"application/json"}}, client: &http.Client{Timeout: exportTime}, log: log}
	for pair := range strings.SplitSeq(first("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
				e.header.Set(strings.TrimSpace(name), plain)
			}
		}
	}
	return e, nil
}

// The parts of an ExportTraceServiceRequest that there are here, as
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding has them.
type (
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpEvent struct {
		Time string `json:"timeUnixNano"`
		Name string `json:"name"`
	}
	otlpStatus struct {
		Code    int    `json:"code"` // 0 unset, 1 ok, 2 error
		Message string `json:"message,omitempty"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		ParentID   string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
)

func otlpAttributes(list []attribute.KeyValue) (out []otlpAttribute) {
	for _, kv := range list {
		var v otlpValue
		switch text := kv.Value.String(); kv.Value.Type() {
		case attribute.INT64:
			v.Int = &text
		case attribute.BOOL:
			b := kv.Value.AsBool()
			v.Bool = &b
		default:
			v.String = &text
		}
		out = append(out, otlpAttribute{string(kv.Key), v})
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// ExportSpans is for sdktrace.SpanExporter. All spans have one resource.
func (e *exporter) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	if len(list) == 0 {
		return nil
	}
	spans := make([]otlpSpan, 0, len(list))
	for _, s := range list {
		status := s.Status()
		out := otlpSpan{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
			Name: s.Name(), Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
			Attributes: otlpAttributes(s.Attributes()),
			Status:     otlpStatus{map[string]int{"Ok": 1, "Error": 2}[status.Code.String()], status.Description},
		}
		if s.Parent().HasSpanID() {
			out.ParentID = s.Parent().SpanID().String()
		}
		for _, event := range s.Events() {
			out.Events = append(out.Events, otlpEvent{nanos(event.Time), event.Name})
		}
		spans = append(spans, out)
	}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": otlpAttributes(list[0].Resource().Attributes())},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "coderunner"}, "spans": spans}},
	}}})
	if err == nil {
		err = e.post(ctx, body)
	}
	if err != nil {
		e.log.Warn("send spans", zap.Error(err))
	}
	return nil // it is logged
}

func (e *exporter) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = e.header
	answer, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", answer.Status)
	}
	return nil
}

// Shutdown is for sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
