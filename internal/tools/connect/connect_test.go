package connect

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/tools/config"
)

// TestBackoff: a server that does not start is started again later each time, and at once
// when it has worked.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{}
		var waits []time.Duration
		for range 8 {
			s.fail(errors.New("it does not start"))
			waits = append(waits, time.Until(s.notBefore))
		}
		if waits[0] != time.Second || waits[3] != 8*time.Second || waits[7] != maxWait {
			t.Errorf("waits %v", waits)
		}
		s.conn, s.users = &conn{}, 2
		s.release(s.conn, true)
		if time.Until(s.notBefore) > 0 || s.failures != 0 {
			t.Errorf("after an answer: %v, %d failures", s.notBefore, s.failures)
		}
	})
}

// TestSecrets: which values are secrets, and that they are found as JSON has them.
func TestSecrets(t *testing.T) {
	s := &Secrets{}
	s.addServer(config.Server{
		Env:     map[string]string{"TOKEN": "abcdefghij", "QUOTED": `say "please"`, "LONGER": "abcdefghijkl", "DIR": "/home/somebody", "SITE": "https://example.com/mcp", "LEVEL": "debug"},
		Headers: map[string]string{"Authorization": "Bearer tokentoken"}, URL: "https://u:passwordpassword@example.com/?key=keykeykeykey",
	})
	for text, want := range map[string]string{
		"abcdefghij abcdefghijkl": "[secret TOKEN] [secret LONGER]", `{"a": "say \"please\""}`: `{"a": "[secret QUOTED]"}`,
		"tokentoken": "[secret Authorization]", "passwordpassword keykeykeykey": "[secret password] [secret key]",
		"/home/somebody debug https://example.com/mcp": "/home/somebody debug https://example.com/mcp",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// TestFresh: a list of a server that tells us of no change is asked for again after a minute, and
// that of another one when the server says so.
func TestFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tells := range []bool{true, false} {
			c := &conn{tells: tells}
			s := &Server{conn: c, listed: time.Now()}
			if !s.fresh(c) {
				t.Errorf("%v: asked for again at once", tells)
			}
			time.Sleep(freshFor)
			if s.fresh(c) != tells {
				t.Errorf("%v, after %v: %v", tells, freshFor, !tells)
			}
			s.listed = time.Now()
			c.stale.Store(true)
			if s.fresh(c) {
				t.Errorf("%v: a change is missed", tells)
			}
		}
	})
}
