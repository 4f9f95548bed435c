package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/http/httpproxy"

	"coderunner/internal/intercept"
	"coderunner/internal/netpolicy"
	"coderunner/runners"
	"coderunner/runners/toolbox"
)

// openNetwork returns what the network of programs is made of: secrets, and files to
// record to or to replay.
func openNetwork(cfg Config) (netpolicy.Options, *intercept.Interceptor, error) {
	var o netpolicy.Options
	if p := httpproxy.FromEnvironment(); p.HTTPProxy != "" || p.HTTPSProxy != "" {
		o.Proxy = p.ProxyFunc()
	}
	if cfg.Secrets == nil && cfg.Record == "" && cfg.Replay == "" {
		return o, nil, nil
	}
	if cfg.Record != "" && cfg.Replay != "" {
		return o, nil, errors.New("--record and --replay exclude each other")
	}
	i, err := intercept.New(cfg.Secrets)
	if err == nil && cfg.Record != "" {
		i.Record(cfg.Version)
	}
	if err == nil && cfg.Replay != "" {
		err = i.Replay(cfg.Replay)
	}
	o.Intercept = i
	return o, i, err
}

// SaveRecording writes the exchanges of the programs that have run to the file that the
// configuration names, if it names one.
func (b *Backend) SaveRecording() error {
	if b.cfg.Record == "" {
		return nil
	}
	list, whole := b.tools.Exchanges()
	if !whole {
		return fmt.Errorf("write the recording %s: tools have returned more than it may have", b.cfg.Record)
	}
	var tools json.RawMessage
	if len(list) > 0 {
		tools, _ = json.Marshal(list) // of texts: it never fails
	}
	return b.intercept.Save(b.cfg.Record, tools)
}

// Tools returns the tools of a program, recorded or answered from the recording where the
// configuration says so.
func (b *Backend) Tools(t runners.Tools) (runners.Tools, error) {
	switch {
	case b.cfg.Replay != "":
		var list []toolbox.Exchange
		if text := b.intercept.Tools(); text != nil {
			if err := json.Unmarshal(text, &list); err != nil {
				return nil, fmt.Errorf("read the recording %s: %w", b.cfg.Replay, err)
			}
		}
		if len(list) == 0 {
			return nil, nil
		}
		return toolbox.Replay(list), nil
	case b.cfg.Record != "" && t != nil:
		b.tools = &toolbox.Recording{}
		return b.tools.Record(t), nil
	}
	return t, nil
}

// networkEnv returns the variables for proxies and certificates. Deno gets them, since
// it fetches npm and JSR packages itself.
func networkEnv() map[string]string {
	env := map[string]string{}
	for _, name := range []string{
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// redacting runs programs and replaces the secrets in what they print and return.
type redacting struct {
	runners.Runner
	secrets *intercept.Secrets
}

func (r redacting) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	end := func() {}
	if req.Stdout != nil {
		same := req.Stdout == req.Stderr
		var end1, end2 func()
		req.Stdout, end1 = r.secrets.Writer(req.Stdout)
		if end2 = end1; same {
			req.Stderr = req.Stdout
			end2 = func() {}
		} else if req.Stderr != nil {
			req.Stderr, end2 = r.secrets.Writer(req.Stderr)
		}
		end = func() { end1(); end2() }
	}
	if printed := req.Printed; printed != nil {
		w, flush := r.secrets.Writer(writerFunc(printed))
		req.Printed = func(p []byte) { _, _ = w.Write(p) }
		before := end
		end = func() { before(); flush() }
	}
	o, err := r.Runner.Run(ctx, req)
	end()
	if o != nil {
		o.Redact(r.secrets.Redact)
	}
	return o, err
}

// writerFunc is a writer that never fails.
type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
