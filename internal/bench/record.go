package main

import (
	"encoding/json"
	"os"
	"time"
)

// record is what -json writes: every sample, so that other statistics can be
// made of them.
type record struct {
	Machine machine      `json:"machine"`
	When    time.Time    `json:"when"`
	Cases   []caseRecord `json:"cases"`
}

type caseRecord struct {
	Name string      `json:"name"` // topic/case
	Rows []rowRecord `json:"rows"`
}

type rowRecord struct {
	Contender  string         `json:"contender"`
	Role       string         `json:"role"` // ours, peer, another
	Error      string         `json:"error,omitempty"`
	Wrong      string         `json:"wrong,omitempty"` // an answer that is not the one wanted
	MedianMS   float64        `json:"median_ms,omitempty"`
	OwnMS      float64        `json:"own_median_ms,omitempty"`
	OfPeerTime float64        `json:"of_peer_time,omitempty"`
	Samples    []sampleRecord `json:"samples"`
}

type sampleRecord struct {
	WallMS float64 `json:"wall_ms"`
	OwnMS  float64 `json:"own_ms,omitempty"`
	CPUMS  float64 `json:"cpu_ms,omitempty"`
}

func newRecord(m machine, when time.Time, results []*result) record {
	rec := record{Machine: m, When: when, Cases: []caseRecord{}}
	for _, res := range results {
		c := caseRecord{Name: res.benchCase.path()}
		for _, r := range res.rows {
			row := rowRecord{
				Contender: r.contender,
				Role:      [...]string{ours: "ours", peer: "peer", another: "another"}[r.role],
				MedianMS:  inMS(r.wall().Median),
				OwnMS:     inMS(r.own().Median),
				Wrong:     r.wrongAnswer(res.benchCase.want),
				Samples:   []sampleRecord{},
			}
			if r.err != nil {
				row.Error = reason(r.err)
			}
			if p := res.first(peer); p != nil {
				row.OfPeerTime = ratio(r.wall().Median, p.wall().Median)
			}
			for _, s := range r.samples {
				row.Samples = append(row.Samples, sampleRecord{inMS(s.Wall), inMS(s.Own), inMS(s.CPU)})
			}
			c.Rows = append(c.Rows, row)
		}
		rec.Cases = append(rec.Cases, c)
	}
	return rec
}

func (r record) write(path string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o666)
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
