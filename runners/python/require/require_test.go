package require_test

import (
	"strings"
	"testing"

	"coderunner/runners/python/require"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"six":                              "six",
		" Foo.Bar__baz ":                   "foo-bar-baz",
		"pydantic >= 2 , < 3":              "pydantic>=2,<3",
		"requests[security, Socks]>=2.8.1": "requests[security,socks]>=2.8.1",
		"a(>=1.0)":                         "a>=1.0",
		"a[]":                              "a",
		"a ==1.*":                          "a==1.*",
		"a~=1.4.2":                         "a~=1.4.2",
		"a===anything":                     "a===anything",
		"a==1.0rc1.post2.dev3+local.1":     "a==1.0rc1.post2.dev3+local.1",
		`a>1;python_version<"3.9"`:         `a>1; python_version<"3.9"`,
	} {
		r, err := require.Parse(text)
		if err != nil || r.String() != want {
			t.Errorf("Parse(%q) = %q, %v, want %q", text, r, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "write a name",
		"npm:zod":                 "javascript",
		"a @ https://x.invalid":   "not from URLs",
		"https://x.invalid/a.whl": "not from URLs",
		"-r requirements.txt":     "write a name",
		"a b":                     "write a name",
		"a 2":                     "write a name",
		"a=1":                     "write a name",
		"a>=1 <2":                 "write a name",
		"a>=x.y":                  "x.y is not a version",
		"a>=1.*":                  ">= does not go with 1.*",
		"a~=1":                    "two numbers",
		"a;":                      "no marker",
		"a[b":                     "write a name",
		"ä":                       "write a name",
		"a\nb":                    "write a name",
		strings.Repeat("a", 3000): "too long",
	} {
		r, err := require.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.20q) = %q, %v, want an error with %q", text, r, err, want)
		}
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]bool{"a==1": true, "a===1": true, "a>=1,==2.0": true, "a": false, "a==1.*": false, "a~=1.0": false} {
		r, err := require.Parse(text)
		if err != nil || r.Exact() != want {
			t.Errorf("%s: exact %v, %v", text, r.Exact(), err)
		}
	}
}

func TestParseScript(t *testing.T) {
	code := "#!/usr/bin/env python\n# /// script\r\n# requires-python = \">=3.11\"\n#\n# dependencies = [\n#   \"rich>=13\",\n# ]\n# [tool.x]\n# y = 1\n# ///\nimport rich\n"
	got, err := require.ParseScript(code)
	want := require.Script{RequiresPython: ">=3.11", Dependencies: []string{"rich>=13"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, none := range []string{"", "print(1)", "# /// script\n# a = 1\nprint(1)\n", "# /// other\n# x\n# ///\n"} {
		if got, err := require.ParseScript(none); err != nil || got.Dependencies != nil {
			t.Errorf("ParseScript(%q) = %v, %v", none, got, err)
		}
	}
	for bad, want := range map[string]string{
		"# /// script\n# a = \n# ///\n":                                           "line 1",
		"# /// script\n# dependencies = 3\n# ///\n":                               "TOML",
		"# /// script\n# ///\n# /// script\n# ///\n":                              "two script blocks",
		"# /// script\n" + strings.Repeat("# # x\n", 100_000) + "# ///\nprint(1)": "too long",
	} {
		if _, err := require.ParseScript(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseScript(%.40q): %v, want an error with %q", bad, err, want)
		}
	}
}

func TestCheckPython(t *testing.T) {
	for text, fits := range map[string]bool{
		"": true, ">=3.8": true, ">=3.14": true, "<3.14": false, "==3.14.*": true, "~=3.12": true, ">=3.9,!=3.14.2": false, "x": false, "<4": true,
	} {
		if err := (require.Script{RequiresPython: text}).CheckPython("3.14.2"); (err == nil) != fits {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestForImport(t *testing.T) {
	lock := func(module string) string {
		return map[string]string{"yaml": "pyyaml", "google.genai": "from-lock", "ruamel": "ruamel-yaml", "azure": "azure-one", "azure.two": "azure-one"}[module]
	}
	for module, want := range map[string]string{
		"yaml": "pyyaml", "dotenv.main": "python-dotenv", "six": "six", "typing_extensions": "typing-extensions",
		"google.genai": "from-lock", "google.protobuf.json": "protobuf", "google.adk.agents": "google-adk",
		"ruamel.yaml": "ruamel-yaml", "azure": "azure-one", "azure.two": "azure-two",
		"google.cloud.storage.blob": "google-cloud-storage", "azure.identity.aio": "azure-identity", "azure.storage.blob": "azure-storage-blob",
		"opentelemetry.trace": "opentelemetry-api", "opentelemetry.sdk.trace": "opentelemetry-sdk", "pkg_resources": "setuptools<82",
		"markdown_it": "markdown-it-py", "_private": "", "größe": "", "os_": "",
	} {
		if got := require.ForImport(module, lock).String(); got != want {
			t.Errorf("ForImport(%q) = %q, want %q", module, got, want)
		}
	}
}

func TestDeeper(t *testing.T) {
	code := "from google.cloud import storage as s, bigquery # x\nif x:\n  from google.cloud import (vision,\n    ndb,)\nfrom google import genai\nfrom azure.storage.blob import x\nfrom zope import *\n"
	for module, want := range map[string]string{
		"google.cloud": "google.cloud.storage google.cloud.bigquery google.cloud.vision google.cloud.ndb", "google": "google.genai",
		"azure.storage.blob": "azure.storage.blob", "zope": "zope", "six": "six", "google.protobuf": "google.protobuf",
	} {
		if got := strings.Join(require.Deeper(module, code), " "); got != want {
			t.Errorf("Deeper(%q) = %q, want %q", module, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a", "a[b,c]>=1,<2;os_name=='x'", "a (>=1)", "a===x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := require.Parse(text)
		if err != nil {
			return
		}
		again, err := require.Parse(r.String())
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("%q became %q: %v %s", text, r, err, diff)
		}
	})
}

func FuzzScript(f *testing.F) {
	f.Add("# /// script\n# dependencies = [\"a\"]\n# ///\n")
	f.Fuzz(func(t *testing.T, code string) { _, _ = require.ParseScript(code) })
}
