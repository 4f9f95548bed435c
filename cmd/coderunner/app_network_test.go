package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reaching are elements that make a browser connect, or look a name up, without a click and
// mostly without a script. HOST is a name of each one's own.
var reaching = []string{
	`<link rel="preconnect" href="http://HOST/">`,
	`<link rel="dns-prefetch" href="//HOST">`,
	`<link rel="prefetch" href="http://HOST/">`,
	`<link rel="preload" as="image" href="http://HOST/">`,
	`<link rel="modulepreload" href="http://HOST/">`,
	`<link rel="stylesheet" href="http://HOST/">`,
	`<link rel="icon" href="http://HOST/">`,
	`<link rel="manifest" href="http://HOST/">`,
	`<link rel="prerender" href="http://HOST/">`,
	`<iframe src="http://HOST/"></iframe>`,
	`<iframe srcdoc='<link rel="preconnect" href="http://HOST/">'></iframe>`,
	`<frameset><frame src="http://HOST/"></frameset>`,
	`<object data="http://HOST/"></object>`,
	`<object><link rel="preconnect" href="http://HOST/"></object>`,
	`<embed src="http://HOST/">`,
	`<meta http-equiv="refresh" content="0;url=http://HOST/">`,
	`<meta http-equiv="Link" content="<http://HOST/>; rel=preconnect">`,
	`<base href="http://HOST/"><img src="x">`,
	`<img src="http://HOST/">`,
	`<img srcset="http://HOST/ 1x">`,
	`<picture><source srcset="http://HOST/"><img alt=""></picture>`,
	`<video src="http://HOST/" autoplay></video>`,
	`<video poster="http://HOST/"></video>`,
	`<audio src="http://HOST/" autoplay></audio>`,
	`<video autoplay><source src="http://HOST/"></video>`,
	`<video src="data:video/mp4;base64,AAAA"><track default src="http://HOST/"></video>`,
	`<input type="image" src="http://HOST/">`,
	`<body background="http://HOST/">`,
	`<table background="http://HOST/"><tr><td>x</td></tr></table>`,
	`<script src="http://HOST/"></script>`,
	`<script>location.href = "http://HOST/"</script>`,
	`<script>new RTCPeerConnection({ iceServers: [{ urls: "stun:HOST:3478" }] }).createDataChannel("x")</script>`,
	`<script>fetch("http://HOST/"); new WebSocket("ws://HOST/"); navigator.sendBeacon("http://HOST/")</script>`,
	`<img src="x" onerror="location = 'http://HOST/'">`,
	`<form action="http://HOST/" id="f"><input autofocus onfocus="f.submit()"></form>`,
	`<a href="http://HOST/" ping="http://HOST/">a link</a>`,
	`<style>@import "http://HOST/"; @import url(http://HOST/); body { background: url(http://HOST/) }</style>`,
	`<style>@font-face { font-family: x; src: url(http://HOST/) } p { font-family: x }</style><p>x</p>`,
	`<p style="background: u\\72l(http://HOST/); list-style-image: url('http://HOST/')">x</p>`,
	`<svg width="9" height="9"><image href="http://HOST/"/><use href="http://HOST/#a"/><a href="http://HOST/"><rect width="9" height="9" fill="url(http://HOST/#a)"/></a></svg>`,
	`<svg><foreignObject><iframe src="http://HOST/"></iframe></foreignObject></svg>`,
	`<svg><style>@import "http://HOST/";</style><script href="http://HOST/"></script></svg>`,
	`<math><mtext><style><link rel="preconnect" href="http://HOST/"></style></mtext></math>`,
	`<noscript><p title="</noscript><link rel=preconnect href=http://HOST/>"></noscript>`,
	`<template><link rel="preconnect" href="http://HOST/"></template>`,
	`<svg></p><style><g title="</style><iframe src=http://HOST/>"></svg>`,
	`<fencedframe src="http://HOST/"></fencedframe><portal src="http://HOST/"></portal>`,
}

// TestAppReachesNothing shows each of them in the page, in a real browser: no name is looked
// up and nobody connects. That they do so elsewhere is seen in frames whose policy allows
// nothing, which keeps back most of them, and not all.
func TestAppReachesNothing(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil || os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long, and needs Chromium")
	}
	page := appPage(t)
	var displays []any
	var frames strings.Builder
	for i, html := range reaching {
		own := func(kind string) string {
			return strings.ReplaceAll(html, "HOST", fmt.Sprintf("%s%d.trap.example", kind, i))
		}
		displays = append(displays, map[string]any{"mime": "text/html", "text": "<h4>one</h4>" + own("shown")})
		policy := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'">`
		fmt.Fprintf(&frames, `<iframe sandbox="allow-scripts" srcdoc="%s"></iframe>`, strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(policy+own("plain")))
	}
	seen := func(page []byte) (report []byte, names []string, connected int) {
		trap, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan int)
		go func() {
			n := 0
			for {
				c, err := trap.Accept()
				if err != nil {
					accepted <- n
					return
				}
				n++
				c.Close()
			}
		}()
		log := filepath.Join(t.TempDir(), "net.json")
		report = browse(t, browser, page, "--dump-dom", "--log-net-log="+log, "--host-resolver-rules=MAP *.trap.example "+trap.Addr().String())
		trap.Close()
		text, err := os.ReadFile(log)
		if err != nil || len(text) == 0 {
			t.Fatalf("the log of the network: %d bytes, %v", len(text), err)
		}
		names = regexp.MustCompile(`(shown|plain)\d+\.trap\.example`).FindAllString(string(text), -1)
		slices.Sort(names)
		return report, slices.Compact(names), <-accepted
	}
	data := map[string]any{"theme": "light", "page": page, "resources": map[string]any{}, "results": []any{
		map[string]any{"structuredContent": map[string]any{"status": "succeeded", "displays": displays}}}}
	host := inHost(t, data)
	report, names, n := seen(host)
	var built struct{ Reports []appReport }
	if err := json.Unmarshal(report, &built); err != nil || len(built.Reports) != 1 || len(built.Reports[0].Frames) < len(reaching)-2 { // but for tables
		t.Fatalf("%v: %.300s", err, report)
	}
	for i, f := range built.Reports[0].Frames {
		if f.Height < 40 || f.Height == 120 { // which it has until it is built
			t.Errorf("frame %d has the height %d", i, f.Height)
		}
	}
	if len(names) > 0 || n > 0 {
		for _, name := range names {
			var i int
			_, _ = fmt.Sscanf(name, "shown%d", &i)
			t.Errorf("reached: %s", reaching[i])
		}
		t.Errorf("%d connections", n)
	}
	plain := []byte(strings.Replace(string(inHost(t, map[string]any{"theme": "light", "results": []any{}})), "<body>", "<body>"+frames.String(), 1))
	_, names, n = seen(plain)
	if len(names) < 3 || n < 1 || !slices.Contains(names, "plain0.trap.example") {
		t.Errorf("elsewhere %d connect, to %q: the test sees nothing", n, names)
	}
	t.Logf("elsewhere %d connections, to %q", n, names)
}

// appPage returns the page of the real server.
func appPage(t *testing.T) string {
	s := serveWire(t)
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"},"capabilities":{}}}`)
	line := s.ask(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ui://coderunner/result"}}`).line
	var a struct {
		Result struct{ Contents []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil || len(a.Result.Contents) != 1 {
		t.Fatalf("%v: %.300s", err, line)
	}
	return a.Result.Contents[0].Text
}
