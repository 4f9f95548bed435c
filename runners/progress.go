package runners

import "sync"

// Progress is how far one step of a preparation is.
type Progress struct {
	Phase string // "download", "unpack", "compile", "resolve", "replay", "run"
	Item  string // "deno 2.9.6", "six-1.17.0-py2.py3-none-any.whl"
	Done  int64  // bytes when Phase is "download", else steps or parts of Total
	Total int64  // 0 when not known
}

// ProgressFunc receives progress. It must return quickly.
type ProgressFunc func(Progress)

// Report calls f unless it is nil.
func (f ProgressFunc) Report(p Progress) {
	if f != nil {
		f(p)
	}
}

// Serial returns a function that any number of goroutines may call, and that
// calls f, unless it is nil, once at a time.
func (f ProgressFunc) Serial() ProgressFunc {
	var mu sync.Mutex
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		f.Report(p)
	}
}
