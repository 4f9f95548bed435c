package httpserve

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"

	"coderunner/runners"
)

// tracer makes spans of requests and runs, where OpenTelemetry's environment variables
// name a collector; otherwise it does nothing.
type tracer struct {
	trace.Tracer
	provider *sdktrace.TracerProvider // nil: none
}

func newTracer(ctx context.Context, version string, log *zap.Logger) (*tracer, error) {
	exporter, err := newExporter(os.Getenv, log)
	if exporter == nil || err != nil {
		return &tracer{Tracer: noop.NewTracerProvider().Tracer("coderunner")}, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "coderunner"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &tracer{p.Tracer("coderunner"), p}, nil
}

// close sends what is left.
func (t *tracer) close() {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter logs
}

var propagator propagation.TraceContext

// request begins the span of a request. The caller ends it.
func (t *tracer) request(r *http.Request) (context.Context, func(status int)) {
	if t.provider == nil || r.URL.Path != "/mcp" {
		return r.Context(), func(int) {}
	}
	ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.Start(ctx, r.Method+" /mcp", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", "/mcp")))
	return ctx, func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, strconv.Itoa(status))
		}
		span.End()
	}
}

// run begins the span of a run, below the request's or the traceparent of its message.
func (t *tracer) run(ctx context.Context, parent string, r *run) func(*runners.Outcome, error) {
	if t.provider == nil {
		return func(*runners.Outcome, error) {}
	}
	if parent != "" {
		ctx = propagator.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	_, span := t.Start(ctx, "run_code", trace.WithTimestamp(r.arrived), trace.WithAttributes(
		attribute.String("coderunner.language", string(r.language)), attribute.Bool("coderunner.session", r.session != "")))
	return func(out *runners.Outcome, err error) {
		if !r.begun.IsZero() {
			span.AddEvent("begun", trace.WithTimestamp(r.begun))
		}
		switch {
		case err != nil:
			span.SetStatus(codes.Error, "the program was not run")
		case out != nil:
			span.SetAttributes(attribute.String("coderunner.status", string(out.Status)),
				attribute.Int64("coderunner.prepare_ms", out.Usage.PrepareMS), attribute.Int64("coderunner.run_ms", out.Usage.RunMS))
			if out.Status != runners.Succeeded {
				span.SetStatus(codes.Error, string(out.Status))
			}
		}
		span.End(trace.WithTimestamp(time.Now()))
	}
}
