package httpserve

import (
	"strconv"
	"strings"
	"time"
)

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

const (
	kindInternal, kindServer, kindClient = 1, 2, 3
	statusError                          = 2
)

func textAttribute(key, value string) otlpAttribute {
	return otlpAttribute{key, otlpValue{String: &value}}
}

func numberAttribute(key string, value int64) otlpAttribute {
	text := strconv.FormatInt(value, 10)
	return otlpAttribute{key, otlpValue{Int: &text}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// traceparent is the span that another one is below; as a key, a context's.
type traceparent struct {
	trace, span string // "": none
	dropped     bool   // its maker does not record it
}

// parseTraceparent reads https://www.w3.org/TR/trace-context/#traceparent-header.
func parseTraceparent(text string) traceparent {
	id := func(s string, digits int) bool {
		return len(s) == digits && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
	}
	parts := strings.Split(text, "-")
	if len(parts) < 4 || len(parts) > 4 && parts[0] == "00" || parts[0] == "ff" || !id("1"+parts[0], 3) || !id(parts[1], 32) || !id(parts[2], 16) || !id("1"+parts[3], 3) {
		return traceparent{}
	}
	flags, _ := strconv.ParseUint(parts[3], 16, 8)
	return traceparent{parts[1], parts[2], flags&1 == 0}
}

// sampler chooses the traces that are sent, as OTEL_TRACES_SAMPLER says.
type sampler struct {
	byParent bool
	share    float64
}

func newSampler(name, arg string) sampler {
	s := sampler{byParent: true, share: 1}
	base, byParent := strings.CutPrefix(name, "parentbased_")
	switch base {
	case "always_on", "always_off", "traceidratio":
		s.byParent = byParent
	}
	if share, err := strconv.ParseFloat(arg, 64); base == "always_off" {
		s.share = 0
	} else if base == "traceidratio" && err == nil {
		s.share = share
	}
	return s
}

func (s sampler) takes(above traceparent) bool {
	if s.byParent && above.span != "" {
		return !above.dropped
	}
	n, _ := strconv.ParseUint(above.trace[16:], 16, 64)
	return float64(n>>1) < s.share*(1<<63)
}
