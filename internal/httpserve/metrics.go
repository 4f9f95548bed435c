package httpserve

import (
	"fmt"
	"net/http"
	"strconv"

	prometheus "github.com/VictoriaMetrics/metrics"

	"coderunner/runners"
)

// metrics are sums over all clients: no label tells one from another.
type metrics struct{ set *prometheus.Set }

const metricsPath = "/metrics"

// buckets are the upper bounds of durations in seconds, a millisecond to a minute.
var buckets = prometheus.ExponentialBuckets(0.001, 4, 9)

// newMetrics registers what there is to measure.
func newMetrics(s *Server) *metrics {
	prometheus.ExposeMetadata(true) // the types
	m := &metrics{prometheus.NewSet()}
	gauge := func(name string, value func() int) {
		m.set.NewGauge(name, func() float64 { return float64(value()) })
	}
	load := func(waiting bool) func() int {
		return func() int {
			running, queued := s.clients.queue.Load()
			if waiting {
				return queued
			}
			return running
		}
	}
	count := func(which int) func() int {
		return func() int {
			clients, sessions, requests := s.clients.counts()
			return []int{clients, sessions, requests}[which]
		}
	}
	gauge("coderunner_places", s.clients.places) // programs that run at once at most
	gauge("coderunner_running", load(false))
	gauge("coderunner_waiting", load(true)) // for a free place
	gauge("coderunner_clients", count(0))   // that were there lately
	gauge("coderunner_mcp_sessions", count(1))
	gauge("coderunner_requests_in_progress", count(2))
	gauge("coderunner_kept_bytes", s.clients.kept.Bytes) // in memory, of what earlier runs left
	m.wait()                                             // it is there before the first program
	s.board.ended = m.ended
	return m
}

// count adds one to a counter. Labels are names and their values.
func (m *metrics) count(name string, labels ...string) {
	m.set.GetOrCreateCounter(labelled(name, labels...)).Inc()
}

// wait returns how long programs waited for a free place.
func (m *metrics) wait() *prometheus.PrometheusHistogram {
	return m.set.GetOrCreatePrometheusHistogramExt("coderunner_queue_seconds", buckets)
}

func labelled(name string, labels ...string) string {
	for i := 0; i < len(labels); i += 2 {
		name += fmt.Sprintf("%c%s=%q", "{,"[min(i, 1)], labels[i], labels[i+1])
	}
	return name + "}"
}

// ended counts a run.
func (m *metrics) ended(r *run, out *runners.Outcome, err error) {
	status := "error" // ours
	if err == nil && out != nil {
		status = string(out.Status)
	}
	begun := r.begun // nobody writes it any more
	if begun.IsZero() {
		m.count("coderunner_runs_total", "language", string(r.language), "status", string(runners.Cancelled))
		return
	}
	m.count("coderunner_runs_total", "language", string(r.language), "status", status)
	m.wait().Update(begun.Sub(r.arrived).Seconds())
	m.set.GetOrCreatePrometheusHistogramExt(labelled("coderunner_run_seconds", "language", string(r.language)), buckets).UpdateDuration(begun) // with the preparation of packages
}

// request counts a request, by a path that exists.
func (m *metrics) request(r *http.Request, status int) {
	path := r.URL.Path
	switch path {
	case "/", "/mcp", metricsPath, "/status.json", "/healthz", "/readyz":
	default:
		path = "other"
	}
	m.count("coderunner_http_requests_total", "path", path, "status", strconv.Itoa(status))
}

func (m *metrics) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.set.WritePrometheus(w)
		prometheus.WriteProcessMetrics(w)
	})
}
