package main

import (
	"strings"
	"testing"

	"coderunner/runners"
)

func TestSpecifiers(t *testing.T) {
	code := `import a from "npm:zod@3/v4"; import 'jsr:@std/path@^1';
import b from "lodash"; import type { C } from "@scope/name/sub";
const d = await import( "npm:/chalk" ); export * from "./own.ts"; import "../x.js";
import fs from "fs"; import p from "node:path"; import u from "https://example.org/u.ts"; import e from "data:text/javascript,1";
const from = "text"; important("no");`
	var got []string
	for _, at := range specifiers(code) {
		got = append(got, code[at[0]:at[1]])
	}
	if want := "npm:zod@3/v4 jsr:@std/path@^1 lodash @scope/name/sub npm:/chalk"; strings.Join(got, " ") != want {
		t.Errorf("specifiers are %q, want %s", got, want)
	}
}

func TestPin(t *testing.T) {
	packages := []runners.Package{
		{Name: "zod", Version: "3.25.76", Source: "npm"}, {Name: "@std/path", Version: "1.1.2", Source: "jsr"},
		{Name: "two", Version: "1.0.0", Source: "npm"}, {Name: "two", Version: "2.0.0", Source: "npm"},
	}
	for specifier, want := range map[string]string{
		"npm:zod@3/v4":           "npm:zod@3.25.76/v4",
		"zod":                    "npm:zod@3.25.76",
		"npm:zod@latest":         "npm:zod@3.25.76",
		"jsr:@std/path@^1/posix": "jsr:@std/path@1.1.2/posix",
		"npm:two@1.0.0":          "npm:two@1.0.0",
		"npm:two":                "",
		"npm:@std/path":          "",
	} {
		got, err := pin(specifier, packages)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("pin(%q) = %q, %v, want %q", specifier, got, err, want)
		}
	}
}

func TestCheckPinned(t *testing.T) {
	for _, test := range []struct{ code, packages, want string }{
		{`import "npm:zod@3.25.76"; import "node:fs"; import "./x.ts"`, "npm:chalk@5.3.0", ""},
		{`import "npm:zod@3"`, "", "npm:zod@3"},
		{`import "zod"`, "", "zod"},
		{``, "npm:zod", "npm:zod"},
		{`import "https://example.org/x.ts"`, "", "a URL"},
	} {
		err := checkPinned(runners.Request{Code: test.code, Packages: strings.Fields(test.packages)})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %q", test.code, test.packages, err, test.want)
		}
	}
}
