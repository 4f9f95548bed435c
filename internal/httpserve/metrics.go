package httpserve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"coderunner/runners"
)

// metrics are sums over all clients: no label tells one from another.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	runs     *prometheus.CounterVec
	waited   prometheus.Histogram
	took     *prometheus.HistogramVec
}

// newMetrics registers what there is to measure.
func newMetrics(s *Server) *metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 4, 9) // a millisecond to a minute
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "coderunner_http_requests_total", Help: "Requests by path and status."}, []string{"path", "status"}),
		runs:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "coderunner_runs_total", Help: "Programs that ended, by language and status."}, []string{"language", "status"}),
		waited:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "coderunner_queue_seconds", Help: "How long programs waited for a free place.", Buckets: buckets}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "coderunner_run_seconds", Help: "How long programs took, with the preparation of packages.", Buckets: buckets}, []string{"language"}),
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	load := func(waiting bool) func() int {
		return func() int {
			running, queued, _, _ := s.clients.queue.Load("")
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
	m.registry.MustRegister(m.requests, m.runs, m.waited, m.took,
		gauge("coderunner_places", "Programs that run at once at most.", s.clients.places),
		gauge("coderunner_running", "Programs that run.", load(false)),
		gauge("coderunner_waiting", "Programs that wait for a free place.", load(true)),
		gauge("coderunner_clients", "Clients that were there lately.", count(0)),
		gauge("coderunner_mcp_sessions", "MCP sessions of these clients.", count(1)),
		gauge("coderunner_requests_in_progress", "MCP requests that are being answered.", count(2)),
		gauge("coderunner_kept_bytes", "Bytes in memory of what earlier runs left.", s.clients.kept.Bytes),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.board.ended = m.ended
	return m
}

// ended counts a run.
func (m *metrics) ended(r *run, out *runners.Outcome, err error) {
	status := "error" // ours
	if err == nil && out != nil {
		status = string(out.Status)
	}
	begun := r.begun // nobody writes it any more
	if begun.IsZero() {
		m.runs.WithLabelValues(string(r.language), string(runners.Cancelled)).Inc()
		return
	}
	m.runs.WithLabelValues(string(r.language), status).Inc()
	m.waited.Observe(begun.Sub(r.arrived).Seconds())
	m.took.WithLabelValues(string(r.language)).Observe(time.Since(begun).Seconds())
}

// request counts a request, by a path that exists.
func (m *metrics) request(r *http.Request, status int) {
	path := r.URL.Path
	switch path {
	case "/", "/mcp", "/metrics", "/status.json", "/healthz", "/readyz":
	default:
		path = "other"
	}
	m.requests.WithLabelValues(path, strconv.Itoa(status)).Inc()
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
