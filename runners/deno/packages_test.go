package deno

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"coderunner/cache"
	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/deno/process"

	"github.com/google/go-cmp/cmp"
)

func TestPackages(t *testing.T) {
	r := open(t, "", nil)
	tests := []struct {
		name     string
		code     string
		packages []string
		result   string
		has      []string // NAME@VERSION, the version a prefix
	}{
		{"npm with a version", "import { z } from 'npm:zod@3.25.76';\nz.object({ a: z.number() }).safeParse({ a: 'x' }).success", nil, "false", []string{"zod@3.25.76"}},
		{"pinned by name", "import { z } from 'zod';\nz.string().parse('x')", []string{"npm:zod@3"}, `"x"`, []string{"zod@3."}},
		{"pinned with scheme", "import { z } from 'npm:zod';\nz.string().parse('x')", []string{"zod@3"}, `"x"`, []string{"zod@3."}},
		{"pinned and computed", "const { z } = await import('zo' + 'd');\nz.string().parse('x')", []string{"zod@3"}, `"x"`, []string{"zod@3."}},
		{"bare", "import _ from 'lodash';\n_.chunk([1, 2, 3], 2).length", nil, "2", []string{"lodash@4."}},
		{"bare path", "import chunk from 'lodash/chunk.js';\nchunk([1, 2, 3], 2).length", nil, "2", []string{"lodash@4."}},
		{"path", "import { addDays } from 'npm:date-fns@4';\naddDays(new Date(0), 1).toISOString()", nil, `"1970-01-02T00:00:00.000Z"`, []string{"date-fns@4."}},
		{"dependencies", "import * as cheerio from 'cheerio';\ncheerio.load('<p>x</p>')('p').text()", nil, `"x"`, []string{"cheerio@1.", "htmlparser2@", "domhandler@"}},
		{"dynamic", "const { default: _ } = await import('npm:lodash@4');\n_.sum([1, 2])", nil, "3", []string{"lodash@4."}},
		{"looks at the environment", "import chalk from 'chalk';\nimport express from 'express';\nchalk.red('x') + typeof express", nil, `"xfunction"`, []string{"chalk@", "express@"}},
		{"required file", "const chunk = require('lodash/chunk'), fp = require('npm:lodash@4/fp');\nchunk([1, 2, 3], 2).length + fp.add(1)(2)", nil, "5", []string{"lodash@4."}},
		{"required", "const _ = require('lodash'), { z } = require('zod');\n_.chunk([1, 2, 3], 2).length + z.string().parse('x')", []string{"zod@3"}, `"2x"`, []string{"lodash@4.", "zod@3."}},
		{"newest beside an older one", "import 'npm:node-schedule@2.1.1';\nimport { CronExpressionParser } from 'cron-parser';\ntypeof CronExpressionParser", nil, `"function"`, []string{"cron-parser@4."}},
		{"names for default", "import yaml from 'npm:js-yaml@5';\nyaml.load('[1]')[0]", nil, "1", []string{"js-yaml@"}},
		{"merged keys", "import yaml from 'js-yaml';\nyaml.load('{a: &a {b: 1}, c: {<<: *a}}').c.b", nil, "1", []string{"js-yaml@4"}},
		{"default of a compiled module", "import styled, { css } from 'styled-components';\nimport traverse from 'npm:@babel/traverse@7';\n[typeof styled.div, typeof css, typeof styled.css, typeof traverse, typeof traverse.default, typeof traverse.NodePath].every((t) => t === 'function')", nil, "true", []string{"styled-components@"}},
		{"sharp's WebAssembly", `import sharp from "sharp";
const png = await sharp(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"/>')).resize(20).png().toBuffer();
const { format, width, height } = await sharp(png).metadata();
format + width + "x" + height`, nil, `"png20x10"`, []string{"sharp@", "@img/sharp-wasm32@"}},
		{"sharp's WebAssembly, required", `const sharp = require("sharp");
sharp({ create: { width: 8, height: 8, channels: 3, background: "red" } }).jpeg().toBuffer().then((jpeg) => jpeg.length > 100)`, nil, `true`, []string{"sharp@", "@img/sharp-wasm32@"}},
		{"unused", "1", []string{"npm:zod@3"}, "1", []string{"zod@3."}},
	}
	for _, tt := range append(tests[:1:1], sample.Of(t, 3, tests[1:])...) {
		t.Run(tt.name, func(t *testing.T) {
			req := runners.Request{Code: tt.code, Packages: tt.packages}
			for range 2 {
				o := run(t, r, req)
				if o.Result == nil || o.Result.Text != tt.result {
					t.Fatalf("result %+v, want %s; %s %+v\n%s", o.Result, tt.result, o.Status, o.Error, o.Stderr)
				}
				for _, want := range tt.has {
					if !slices.ContainsFunc(o.Packages, func(p runners.Package) bool {
						return strings.HasPrefix(p.Name+"@"+p.Version, want) && p.Source == "npm" && strings.HasPrefix(p.Integrity, "sha512-")
					}) {
						t.Errorf("packages %+v, want %s among them", o.Packages, want)
					}
				}
			}
			o := run(t, r, req)
			if i := slices.IndexFunc(o.Packages, func(p runners.Package) bool { return !p.Cached }); i >= 0 {
				t.Errorf("the third time, %+v is not cached", o.Packages[i])
			}
		})
	}
	t.Run("later processes", func(t *testing.T) {
		again := open(t, "", func(c *process.Config) { c.Offline = true })
		o := run(t, again, runners.Request{Code: tests[0].code})
		if o.Result == nil {
			t.Errorf("offline, with all in the cache: %s %+v", o.Status, o.Error)
		}
	})
}

func TestFirstFetch(t *testing.T) {
	r := open(t, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	var mu sync.Mutex
	var seen []string
	req := runners.Request{Code: "import isOdd from 'is-odd'; isOdd(3)", Progress: func(p runners.Progress) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, p.Phase+" "+p.Item)
	}}
	o := run(t, r, req)
	if o.Result == nil || o.Result.Text != "true" {
		t.Fatalf("%s %+v", o.Status, o.Error)
	}
	if i := slices.IndexFunc(o.Packages, func(p runners.Package) bool { return p.Cached }); i >= 0 || len(o.Packages) != 2 {
		t.Errorf("packages %+v, want is-odd and is-number, none of them cached", o.Packages)
	}
	if !slices.Contains(seen, "resolve is-odd") || !slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, "download is-odd-") }) {
		t.Errorf("progress %q", seen)
	}
	if o.Usage.PrepareMS == 0 {
		t.Error("the preparation took no time")
	}

	// Somebody removes what was fetched.
	if err := os.RemoveAll(r.DenoDir); err != nil {
		t.Fatal(err)
	}
	if err := process.MakeDenoDir(r.DenoDir); err != nil {
		t.Fatal(err)
	}
	if o = run(t, r, req); o.Result == nil || o.Result.Text != "true" {
		t.Errorf("after the cache was emptied: %s %+v", o.Status, o.Error)
	}
	if err := os.RemoveAll(r.DenoDir); err != nil {
		t.Fatal(err)
	}
	r.Config.Offline = true
	o = run(t, r, req)
	if o.Status != runners.NotInstalled {
		t.Errorf("after it was emptied offline: %s %+v", o.Status, o.Error)
	}
}

// TestNotInstalled asks for what cannot be had.
func TestNotInstalled(t *testing.T) {
	empty := func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	tests := []struct {
		name     string
		code     string
		packages []string
		change   func(*process.Config)
		want     map[string]string // name, a part of the reason
	}{
		{"several", "import 'npm:coderunner-no-such-package-1';\nimport z from 'zod';\nimport 'npm:zod@99';\nimport 'coderunner-no-such-package-2/x'", nil, nil, map[string]string{
			"npm:coderunner-no-such-package-1": "not found in the npm registry",
			"coderunner-no-such-package-2/x":   "not found in the npm registry",
			"npm:zod@99":                       `no version matches "99"`,
		}},
		{"argument", "1", []string{"npm:coderunner-no-such-package-1"}, nil, map[string]string{"npm:coderunner-no-such-package-1": "not found"}},
		{"in a file", "import './lib.ts'", nil, nil, map[string]string{"coderunner-no-such-package-1": "not found"}},
		{"dynamic", "await import('coderunner-no-such-package-1')", nil, nil, map[string]string{"coderunner-no-such-package-1": "not found"}},
		{"required", "require('coderunner-no-such-package-1')", nil, nil, map[string]string{"coderunner-no-such-package-1": "not found"}},
		{"other systems", "import 'npm:fsevents@2'; import 'npm:is-odd@3'", nil, nil, map[string]string{"npm:fsevents@2": "for other systems only (darwin)"}},
		{"offline", "import 'zod'; import 'npm:lodash'", nil, func(c *process.Config) { empty(c); c.Offline = true }, map[string]string{
			"zod": "not in the cache, and nothing is fetched offline", "npm:lodash": "not in the cache"}},
		{"no registry", "import 'zod'", nil, func(c *process.Config) {
			empty(c)
			c.NPMRegistry = strings.Replace(dead.URL, "://", "://user:s3cr3t@", 1) + "/"
		}, map[string]string{"zod": "cannot be reached"}},
		{"no JSR", "import 'jsr:@std/assert@1'", nil, func(c *process.Config) { empty(c); c.JSRURL = dead.URL + "/" }, map[string]string{"jsr:@std/assert@1": ""}},
		{"URL without permission", "import '" + dead.URL + "/x.ts'", nil, empty, map[string]string{dead.URL + "/x.ts": "not among the permissions (--allow-import)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, "", tt.change)
			o := run(t, r, runners.Request{Code: tt.code, Packages: tt.packages, Files: []runners.File{{Path: "lib.ts", Data: []byte("import 'coderunner-no-such-package-1'")}}[:b2i(tt.name == "in a file")]})
			if o.Status != runners.NotInstalled || o.Error == nil || o.Stdout != "" {
				t.Fatalf("%s %+v, stdout %q, want not_installed", o.Status, o.Error, o.Stdout)
			}
			got := map[string]string{}
			for _, p := range o.Error.Packages {
				got[p.Name] = p.Reason
				if !strings.Contains(p.Reason, tt.want[p.Name]) || p.Reason == "" {
					t.Errorf("%s: %q, want it to say %q", p.Name, p.Reason, tt.want[p.Name])
				}
				if !strings.Contains(o.Error.Message, p.Name) {
					t.Errorf("the message %q does not name %s", o.Error.Message, p.Name)
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("packages %v, want %v", got, tt.want)
			}
			if all := fmt.Sprint(o.Error); strings.Contains(all, "s3cr3t") || strings.Contains(all, os.TempDir()) {
				t.Errorf("the error has a secret or a path in it: %s", all)
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestURLs fetches modules from a server and a JSR registry of our own.
func TestURLs(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	files := map[string]string{
		"/m.ts":                             "import { b } from './b.ts'; export const a: number = b",
		"/b.ts":                             "export const b = 4",
		"/d.json":                           `{"k": 5}`,
		"/file.ts":                          `import x from "file:///etc/hostname" with { type: "text" }; console.log("s3cr3t" + x)`,
		"/@coderunner/test/meta.json":       `{"scope":"coderunner","name":"test","latest":"1.2.3","versions":{"1.2.3":{}}}`,
		"/@coderunner/test/1.2.3_meta.json": `{"manifest":{"/mod.ts":{"size":21,"checksum":"sha256-CHECKSUM"}},"exports":{".":"./mod.ts"}}`,
		"/@coderunner/test/1.2.3/mod.ts":    "export const six = 6;",
		"/@coderunner/test/1.2.3/never-asked.txt": "",
	}
	files["/@coderunner/test/1.2.3_meta.json"] = strings.Replace(files["/@coderunner/test/1.2.3_meta.json"], "CHECKSUM", hexSHA256(files["/@coderunner/test/1.2.3/mod.ts"]), 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		asked = append(asked, req.URL.Path)
		mu.Unlock()
		text, ok := files[req.URL.Path]
		if !ok {
			http.NotFound(w, req)
			return
		}
		kind := "application/typescript"
		if strings.HasSuffix(req.URL.Path, ".json") {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	r := open(t, "--allow-import="+host, func(c *process.Config) {
		c.JSRURL = server.URL + "/"
		c.Env = map[string]string{}
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	code := strings.ReplaceAll(`import { a } from "URL/m.ts"; import d from "URL/d.json" with { type: "json" }; import { six } from "jsr:@coderunner/test@1"; [a, d.k, six]`, "URL", server.URL)
	for i := range 2 {
		o := run(t, r, runners.Request{Code: code})
		if o.Result == nil || string(o.Result.JSON) != "[4,5,6]" {
			t.Fatalf("%s %+v, result %+v", o.Status, o.Error, o.Result)
		}
		got := map[string]bool{}
		for _, p := range o.Packages {
			got[p.Source+" "+p.Name+" "+p.Version] = p.Cached
		}
		cached := i == 1
		want := map[string]bool{
			"url " + server.URL + "/m.ts ": cached, "url " + server.URL + "/b.ts ": cached, "url " + server.URL + "/d.json ": cached,
			"jsr @coderunner/test 1.2.3": cached,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("packages (-want +got):\n%s", diff)
		}
	}
	mu.Lock()
	before := len(asked)
	mu.Unlock()
	for name, code := range map[string]string{
		"a secret in an address": `await import("URL/x.ts?" + 1).catch(() => {})`,
		"a file that imports":    `import "URL/file.ts"`,
	} {
		o := run(t, r, runners.Request{Code: strings.ReplaceAll(code, "URL", server.URL)})
		if strings.Contains(o.Stdout, "s3cr3t") {
			t.Errorf("%s: %+v", name, o)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, path := range asked[before:] {
		if path != "/file.ts" {
			t.Errorf("the program made Deno ask for %s", path)
		}
	}
}

// Packages that only show when they are imported are not there, and the error
// says what to do.
func TestComputedNames(t *testing.T) {
	r := open(t, "", nil)
	for code, want := range map[string]string{
		"const n = 'lod' + 'ash'; await import(n)":                     `Import "lodash" not a dependency; packages that`,
		"import 'zod'; const n = 'lod' + 'ash'; await import(n)":       `Import "lodash" not a dependency and`,
		"import 'zod'; const n = 'npm:lod' + 'ash@4'; await import(n)": "a package is imported that is not in the cache: if no import of the program names it",
		"const n = 'lod' + 'ash'; require(n)":                          "Cannot find module 'lodash'; packages that",
		"const n = './lod' + 'ash'; require(n)":                        "Cannot find module './lodash'",
		"const e = new Error(\"Cannot find module 'fs'\"); throw e":    "Cannot find module 'fs'",
	} {
		o := run(t, r, runners.Request{Code: code})
		if o.Error == nil || !strings.HasPrefix(o.Error.Message, want) || !strings.Contains(o.Error.Traceback, want) {
			t.Errorf("%s\n%+v, want %q", code, o.Error, want)
			continue
		}
		how := strings.Contains(o.Error.Message, "--package") && strings.Contains(o.Error.Traceback, "--package")
		if _, ok := strings.CutSuffix(want, "'"); ok == how {
			t.Errorf("%s\n%+v: says what to do: %t", code, o.Error, how)
		}
	}
}

func TestWarm(t *testing.T) {
	r := open(t, "", nil)
	if err := r.Warm(context.Background(), []string{"npm:zod@3"}, nil); err != nil {
		t.Error(err)
	}
	if err := r.Warm(context.Background(), []string{"coderunner-no-such-package-1"}, nil); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Warm with a package that does not exist: %v", err)
	}
	if err := r.Warm(context.Background(), []string{"a b"}, nil); err == nil {
		t.Error("Warm with a bad name: no error")
	}
}

func hexSHA256(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestUnplaced has a package throw an error whose stack it has emptied.
func TestUnplaced(t *testing.T) {
	o := run(t, open(t, "", nil), runners.Request{Code: "import { compile } from 'svelte/compiler';\n\ncompile('{#if a}', { filename: 'A.svelte' })"})
	if o.Error == nil || o.Error.Type != "CompileError" || !strings.Contains(o.Error.Traceback, `filename: "A.svelte"`) {
		t.Errorf("%s %+v", o.Status, o.Error)
	}
}

// TestFrameless has a package throw an error for which it asked for no frames.
func TestFrameless(t *testing.T) {
	o := run(t, open(t, "", nil), runners.Request{Code: "import { Schema } from 'npm:effect@4';\nSchema.decodeUnknownSync(Schema.Number)('x')"})
	if o.Error == nil || o.Error.Type != "SchemaError" || !strings.Contains(o.Error.Traceback, `_tag: "SchemaError"`) {
		t.Errorf("%s %+v", o.Status, o.Error)
	}
}

// TestMocks mocks requests with the versions of packages that are taken for that.
func TestMocks(t *testing.T) {
	r := open(t, "", nil)
	for _, code := range []string{`const nock = require("nock"), axios = require("axios");
nock("http://host.invalid").get("/a").reply(200, { b: 1 });
nock("https://host.invalid").get("/a").reply(200, { b: 2 });
axios.get("http://host.invalid/a").then(async ({ data }) => console.log(data.b, (await axios.get("https://host.invalid/a")).data.b));
`, `import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";
import axios from "axios";
const server = setupServer(http.get("http://host.invalid/a", () => HttpResponse.json({ b: 1 })), http.get("https://host.invalid/a", () => HttpResponse.json({ b: 2 })));
server.listen();
console.log((await axios.get("http://host.invalid/a")).data.b, (await (await fetch("https://host.invalid/a")).json()).b);
server.close();
`} {
		if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code}); o.Stdout != "1 2\n" {
			t.Errorf("%s %+v\n%s", o.Status, o.Error, o.Stdout)
		}
	}
}
