package requirement_test

import (
	"strings"
	"testing"

	"coderunner/runners/python/requirement"

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
		r, err := requirement.Parse(text)
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
		"a;":                      "not a marker",
		"a[b":                     "write a name",
		"ä":                       "write a name",
		"a\nb":                    "write a name",
		strings.Repeat("a", 3000): "too long",
	} {
		r, err := requirement.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.20q) = %q, %v, want an error with %q", text, r, err, want)
		}
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]bool{"a==1": true, "a===1": true, "a>=1,==2.0": true, "a": false, "a==1.*": false, "a~=1.0": false} {
		r, err := requirement.Parse(text)
		if err != nil || r.Exact() != want {
			t.Errorf("%s: exact %v, %v", text, r.Exact(), err)
		}
	}
}

func TestParseScript(t *testing.T) {
	code := "#!/usr/bin/env python\n# /// script\r\n# requires-python = \">=3.11\"\n#\n# dependencies = [\n#   \"rich>=13\",\n# ]\n# [tool.x]\n# y = 1\n# ///\nimport rich\n"
	got, err := requirement.ParseScript(code)
	want := requirement.Script{RequiresPython: ">=3.11", Dependencies: []string{"rich>=13"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, none := range []string{"", "print(1)", "# /// script\n# a = 1\nprint(1)\n", "# /// other\n# x\n# ///\n"} {
		if got, err := requirement.ParseScript(none); err != nil || got.Dependencies != nil {
			t.Errorf("ParseScript(%q) = %v, %v", none, got, err)
		}
	}
	for bad, want := range map[string]string{
		"# /// script\n# a = \n# ///\n":                                           "line 1",
		"# /// script\n# dependencies = 3\n# ///\n":                               "TOML",
		"# /// script\n# ///\n# /// script\n# ///\n":                              "two script blocks",
		"# /// script\n" + strings.Repeat("# # x\n", 100_000) + "# ///\nprint(1)": "too long",
	} {
		if _, err := requirement.ParseScript(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseScript(%.40q): %v, want an error with %q", bad, err, want)
		}
	}
}

func TestCheckPython(t *testing.T) {
	for text, fits := range map[string]bool{
		"": true, ">=3.8": true, ">=3.14": true, "<3.14": false, "==3.14.*": true, "~=3.12": true, ">=3.9,!=3.14.2": false, "x": false, "<4": true,
	} {
		if err := (requirement.Script{RequiresPython: text}).CheckPython("3.14.2"); (err == nil) != fits {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a", "a[b,c]>=1,<2;os_name=='x'", "a (>=1)", "a===x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := requirement.Parse(text)
		if err != nil {
			return
		}
		again, err := requirement.Parse(r.String())
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("%q became %q: %v %s", text, r, err, diff)
		}
	})
}

func FuzzScript(f *testing.F) {
	f.Add("# /// script\n# dependencies = [\"a\"]\n# ///\n")
	f.Fuzz(func(t *testing.T, code string) { _, _ = requirement.ParseScript(code) })
}
