package toolbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"coderunner/runners"
)

// Recording is what programs have asked of their tools and were answered, so that they can run
// again and get the same, and no tool is called for that. It is safe for concurrent use.
type Recording struct {
	// Most bounds what is kept, in bytes; 0 means 256 MiB.
	Most int

	mu   sync.Mutex
	list []Exchange
	size int
}

// Exchange is a query and its answer.
type Exchange struct {
	Query Query              `json:"query"`
	Value json.RawMessage    `json:"value,omitempty"`
	Error *runners.ToolError `json:"error,omitempty"`

	used bool // by a replay
}

// changes reports whether another query of its kind may have another answer.
func (q Query) changes() bool { return q.Op == "call" || q.Op == "read" }

func (q Query) same(p Query) bool {
	return q.Op == p.Op && q.Name == p.Name && q.Ending == p.Ending && q.URI == p.URI && compact(q.Args) == compact(p.Args)
}

// compact returns JSON without spaces: a file has others.
func compact(text []byte) string {
	var b bytes.Buffer
	_ = json.Compact(&b, text) // what is none is the same as the beginning of it
	return b.String()
}

// Record returns tools that are recorded.
func (r *Recording) Record(t runners.Tools) runners.Tools {
	return Remote(func(ctx context.Context, q Query, result any) error {
		value, err := ask(ctx, t, q)
		e := Exchange{Query: q, Error: toolError(err)}
		if err == nil {
			if e.Value, err = json.Marshal(value); err != nil {
				return err
			}
			err = json.Unmarshal(e.Value, result)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !q.changes() && slices.ContainsFunc(r.list, func(old Exchange) bool { return old.Query.same(q) }) {
			return err
		}
		if r.size += len(e.Value) + len(q.Args) + overhead; r.wholeLocked() {
			r.list = append(r.list, e)
		}
		return err
	})
}

// wholeLocked reports whether all of it was kept.
func (r *Recording) wholeLocked() bool { return r.size <= cmp.Or(r.Most, 256<<20) }

// Exchanges returns what was recorded, and whether that is all.
func (r *Recording) Exchanges() (list []Exchange, whole bool) {
	if r == nil {
		return nil, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list), r.wholeLocked()
}

// Replay returns tools that answer what was recorded: calls each once, in their order.
func Replay(list []Exchange) runners.Tools {
	r := &Recording{list: slices.Clone(list)}
	return Remote(func(_ context.Context, q Query, result any) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		i := slices.IndexFunc(r.list, func(e Exchange) bool { return !e.used && e.Query.same(q) })
		if i < 0 {
			return &runners.ToolError{Code: "unknown", Message: fmt.Sprintf("the recording has no answer to this: %s %.200s", q.Op, q.Name)}
		}
		e := &r.list[i]
		if e.used = q.changes(); e.Error != nil {
			return e.Error
		}
		return json.Unmarshal(e.Value, result)
	})
}
