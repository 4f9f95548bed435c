package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2/maybe"
	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/cache/contents"
	"coderunner/internal/fetch"
	"coderunner/internal/httpserve"
	"coderunner/internal/server"
	"coderunner/internal/session"
	"coderunner/runners"
)

// httpConfig is what serve needs for HTTP.
type httpConfig struct {
	httpserve.Options
	tokenFile string
}

// defaultDrain is less than the 30 s after which Kubernetes kills a container.
const defaultDrain = 25 * time.Second

// httpSettings are those of serve alone.
var httpSettings = []setting{
	{"CODE_RUNNER_HTTP", "http", "serve MCP over HTTP on this address, such as 127.0.0.1:8000, instead of stdio", func(c *Config, v string) error { c.HTTP.Addr = v; return nil }},
	{"CODE_RUNNER_HTTP_TOKEN_FILE", "http-token-file", "file with the bearer tokens that clients need, NAME=SECRET on a line; the programs of NAME:60s=SECRET take that long at most, and NAME:metrics=SECRET reads /metrics only. It is made if there is none. Without it: CODE_RUNNER_HTTP_TOKEN, or a token that is written to stderr", func(c *Config, v string) error { c.HTTP.tokenFile = v; return nil }},
	{"CODE_RUNNER_TLS_CERT", "tls-cert", "file with the certificate, in PEM", func(c *Config, v string) error { c.HTTP.TLSCert = v; return nil }},
	{"CODE_RUNNER_TLS_KEY", "tls-key", "file with its key, in PEM", func(c *Config, v string) error { c.HTTP.TLSKey = v; return nil }},
	{"CODE_RUNNER_HTTP_PLAINTEXT", "http-plaintext", "allow other addresses than loopback without TLS, for a proxy in front that has it", setBool(func(c *Config) *bool { return &c.HTTP.Plaintext })},
	{"CODE_RUNNER_HTTP_HOSTS", "http-hosts", "names by which clients call the server, separated by commas; addresses and localhost are known", setList(func(c *Config) *[]string { return &c.HTTP.Hosts })},
	{"CODE_RUNNER_HTTP_ORIGINS", "http-origins", "origins whose pages may use it, such as https://example.com, separated by commas", setList(func(c *Config) *[]string { return &c.HTTP.Origins })},
	{"CODE_RUNNER_HTTP_ISSUER", "http-issuer", "URL of an OpenID Connect issuer whose JWTs are taken", setURL(false, func(c *Config) *string { return &c.HTTP.Issuer })},
	{"CODE_RUNNER_HTTP_RESOURCE", "http-resource", "URL of this server's /mcp, which must be the audience of these JWTs", setURL(false, func(c *Config) *string { return &c.HTTP.Resource })},
	{"CODE_RUNNER_HTTP_MAX_TIMEOUT", "http-max-timeout", "longest timeout_seconds of a call, such as 120s, where a token has none of its own (NAME:60s=SECRET)", within(func(c *Config) *time.Duration { return &c.HTTP.MaxTimeout }, parseSeconds, time.Second, runners.MaxTimeout, "a time of at most 1h, such as 120s")},
	{"CODE_RUNNER_HTTP_DRAIN", "http-drain", fmt.Sprintf("how long programs may take to end after SIGTERM (default %v)", defaultDrain), within(func(c *Config) *time.Duration { return &c.HTTP.Drain }, time.ParseDuration, 0, time.Hour, "a time of at most 1h, such as 25s")},
}

func setList(field func(*Config) *[]string) func(*Config, string) error {
	return func(c *Config, v string) error {
		*field(c) = strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	}
}

// tokens returns the tokens of clients: those that are configured, or a new one,
// which publish writes into the file or, if there is none to be written, to stderr.
func (c httpConfig) tokens() (tokens []httpserve.Token, publish func() error, err error) {
	text := os.Getenv("CODE_RUNNER_HTTP_TOKEN")
	publish = func() error { return nil }
	if c.tokenFile != "" {
		info, err := os.Stat(c.tokenFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			text = httpserve.NewSecret()
			publish = func() error {
				if err := maybe.WriteFile(c.tokenFile, []byte(text+"\n"), 0o600); err != nil {
					return fmt.Errorf("write a token: %w", err)
				}
				fmt.Fprintf(os.Stderr, "coderunner: clients need the token in %s\n", c.tokenFile)
				return nil
			}
		case err != nil:
			return nil, nil, fmt.Errorf("read the tokens: %w", err)
		case info.Mode().Perm()&0o007 != 0:
			return nil, nil, fmt.Errorf("everybody can read %s: chmod 600 it", c.tokenFile)
		default:
			data, err := os.ReadFile(c.tokenFile)
			if err != nil {
				return nil, nil, fmt.Errorf("read the tokens: %w", err)
			}
			text = string(data)
		}
	}
	tokens, err = httpserve.ParseTokens(text)
	if err == nil && len(tokens) == 0 && c.Issuer == "" {
		tokens = []httpserve.Token{{Client: httpserve.DefaultClient, Secret: httpserve.NewSecret()}}
		publish = func() error {
			_, err := fmt.Fprintf(os.Stderr, "coderunner: clients need the token %s (CODE_RUNNER_HTTP_TOKEN or --http-token-file keeps one)\n", tokens[0].Secret)
			return err
		}
	}
	return tokens, publish, err
}

// extraGrace is how much longer than signalGrace a server may take to end after a signal.
var extraGrace atomic.Int64

// serveHTTP serves MCP over HTTP until a signal comes.
func serveHTTP(ctx context.Context, cfg Config, mcp server.Config, c *cache.Cache, ready func() error, log *zap.Logger) error {
	o := cfg.HTTP.Options
	tokens, publish, err := cfg.HTTP.tokens()
	if err != nil {
		return err
	}
	o.Tokens = tokens
	extraGrace.Store(int64(o.Drain))
	o.MCP, o.Ready = mcp, ready
	o.Sessions = func(client string) (*session.Store, error) {
		return cfg.OpenSessions(c, session.Options{Namespace: client, Log: log.Named("sessions").With(zap.String("client", client))})
	}
	o.Cache = describeCache(c, cfg.CacheSize)
	s, err := httpserve.Listen(ctx, o)
	if err == nil {
		err = publish() // not before the address is known to be good
	}
	if err != nil {
		return err
	}
	log.Info("serve MCP over HTTP", zap.String("url", s.URL()), zap.Strings("clients", clientNames(o.Tokens)), zap.String("issuer", fetch.WithoutUser(o.Issuer)))
	return s.Serve(ctx)
}

func clientNames(tokens []httpserve.Token) (names []string) {
	for _, t := range tokens {
		if !slices.Contains(names, t.Client) {
			names = append(names, t.Client)
		}
	}
	return names
}

// describeCache returns what describes the cache, which is looked at once a minute.
func describeCache(c *cache.Cache, limit int64) func(context.Context) string {
	var last atomic.Pointer[string]
	var until atomic.Int64
	return func(ctx context.Context) string {
		if now := time.Now().UnixNano(); now > until.Load() {
			until.Store(now + int64(time.Minute))
			text := "cannot be read"
			if list, err := c.List(ctx); err == nil {
				counted, _ := contents.Sizes(list)
				text = fmt.Sprintf("%d entries, %s", len(list), contents.Filled(counted, limit))
			}
			last.Store(&text)
		}
		if text := last.Load(); text != nil {
			return *text
		}
		return "being read"
	}
}
