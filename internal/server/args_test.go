package server

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coderunner/runners"
)

// parse parses the arguments of a call, as they come in a line.
func parse(args string) (runners.Request, error) {
	c, err := parseCall(args)
	return c.Request, err
}

func parseCall(args string) (programCall, error) {
	m, err := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":` + args + `}}`))
	if err != nil {
		return programCall{}, err
	}
	s, err := New(Config{Runners: allLanguages(runFunc(echo))})
	if err != nil {
		return programCall{}, err
	}
	kept := &keptRun{id: "x-1"}
	kept.Keep("a.txt", "text/plain", "", []byte("kept"))
	s.store.keep(kept)
	return s.parseArguments(&m.Params)
}

func TestArguments(t *testing.T) {
	got, err := parse(`{
		"language": "typescript", "code": "1+1", "packages": ["npm:zod@3"], "timeout_seconds": 2.5,
		"stdin": "in\u0000put", "args": ["a", ""],
		"files": [{"path": "data/in.csv", "text": "a,b"}, {"path": "x.bin", "base64": "AP8="}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if stdin, _ := io.ReadAll(got.Stdin); string(stdin) != "in\x00put" {
		t.Errorf("stdin %q", stdin)
	}
	got.Stdin = nil
	want := runners.Request{
		Language: runners.TypeScript, Code: "1+1", Packages: []string{"npm:zod@3"},
		Args:   []string{"a", ""},
		Files:  []runners.File{{Path: "data/in.csv", Data: []byte("a,b")}, {Path: "x.bin", Data: []byte{0, 255}}},
		Limits: runners.Limits{Timeout: 2500 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Models send null for what they leave out.
	if _, err := parse(`{"language":"python","code":"","packages":null,"stdin":null,"files":null,"args":null,"timeout_seconds":null}`); err != nil {
		t.Errorf("null for optional arguments: %v", err)
	}
}

// A language is taken by its names, and left out where the code shows it. Paths
// are taken as programs and people write them.
func TestGenerousArguments(t *testing.T) {
	for args, want := range map[string]runners.Language{
		`{"language":"py","code":""}`:                        runners.Python,
		`{"language":"Node","code":""}`:                      runners.JavaScript,
		`{"language":null,"code":"for x in y:\n  print(x)"}`: runners.Python,
		`{"code":"const a: number = 1;"}`:                    runners.TypeScript,
	} {
		if got, err := parse(args); err != nil || got.Language != want {
			t.Errorf("%s: %q, %v, want %q", args, got.Language, err, want)
		}
	}
	for path, want := range map[string]string{"./a.txt": "a.txt", "/home/user/d/a": "d/a", "a//b": "a/b", "a/./b": "a/b"} {
		got, err := parse(`{"language":"python","code":"","files":[{"path":"` + path + `","text":""}]}`)
		if err != nil || got.Files[0].Path != want {
			t.Errorf("path %s: %v, %v, want %s", path, got.Files, err, want)
		}
	}
}

// What has another type than the schema's, but can mean only one thing, is taken so.
func TestArgumentsAsMeant(t *testing.T) {
	file := func(path, text string) runners.File { return runners.File{Path: path, Data: []byte(text)} }
	for args, want := range map[string]runners.Request{
		`"timeout_seconds":"5"`:                           {Limits: runners.Limits{Timeout: 5 * time.Second}},
		`"timeout_seconds":" 2.5 s"`:                      {Limits: runners.Limits{Timeout: 2500 * time.Millisecond}},
		`"packages":"six"`:                                {Packages: []string{"six"}},
		`"packages":""`:                                   {},
		`"packages":"numpy, pandas\nnpm:zod@3"`:           {Packages: []string{"numpy", "pandas", "npm:zod@3"}},
		`"packages":"pydantic >= 2, <3"`:                  {Packages: []string{"pydantic >= 2, <3"}},
		`"packages":"[\"six\", \"attrs\"]"`:               {Packages: []string{"six", "attrs"}},
		`"args":"--fast"`:                                 {Args: []string{"--fast"}},
		`"args":[1, -2.50, "x"]`:                          {Args: []string{"1", "-2.50", "x"}},
		`"files":{}`:                                      {},
		`"files":{"b.txt":"B","a.bin":{"base64":"QQ=="}}`: {Files: []runners.File{file("a.bin", "A"), file("b.txt", "B")}},
		`"files":{"path":"a","text":"A"}`:                 {Files: []runners.File{file("a", "A")}},
		`"files":[{"name":"a","content":"A"}]`:            {Files: []runners.File{file("a", "A")}},
		`"files":"[{\"path\":\"a\",\"text\":\"A\"}]"`:     {Files: []runners.File{file("a", "A")}},
	} {
		got, err := parse(`{"language":"python","code":"",` + args + `}`)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if !slices.Equal(got.Packages, want.Packages) || !slices.Equal(got.Args, want.Args) || got.Limits != want.Limits || !slices.EqualFunc(got.Files, want.Files, func(f, g runners.File) bool { return f.Path == g.Path && string(f.Data) == string(g.Data) }) {
			t.Errorf("%s: %+v, want %+v", args, got, want)
		}
	}
}

// Each message is one sentence that names the argument and the fix.
func TestBadArguments(t *testing.T) {
	for _, tt := range []struct{ args, argument, want string }{
		{`7`, "arguments", `"arguments" must be an object, but it is a JSON number.`},
		{`{}`, "code", `"code" is missing: set it to the program's source text.`},
		{`{"code":"1+1"}`, "language", `"language" is missing, and the code does not show it: set it to one of python, typescript, javascript.`},
		{`{"language":"python"}`, "code", `"code" is missing: set it to the program's source text.`},
		{`{"language":"ruby","code":""}`, "language", `"language" is "ruby", but must be one of python, typescript, javascript.`},
		{`{"language":5,"code":""}`, "language", `"language" must be a string, but it is a number.`},
		{`{"language":"python","code":5}`, "code", `"code" must be a string, but it is a number.`},
		{`{"language":"python","code":["a"]}`, "code", `"code" must be a string, but it is an array.`},
		{`{"language":"python","code":"","pkgs":[]}`, "pkgs", `"pkgs" is not an argument; there are args, code, files, language, packages, stdin, timeout_seconds.`},
		{`{"language":"python","code":"","session":"a"}`, "session", `"session" is not an argument`},
		{`{"language":"python","code":"","packages":7}`, "packages", `"packages" must be an array of strings, but it is a number.`},
		{`{"language":"python","code":"","args":"a b"}`, "args", `"args" must be an array of strings, but it is a string.`},
		{`{"language":"python","code":"","packages":["six",{}]}`, "packages", `"packages" must be an array of strings, but element 1 is an object.`},
		{`{"language":"python","code":"","timeout_seconds":"soon"}`, "timeout_seconds", `"timeout_seconds" must be a number of seconds, but it is a string.`},
		{`{"language":"python","code":"","timeout_seconds":"NaN"}`, "timeout_seconds", `must be between 0.001 and 3600.`},
		{`{"language":"python","code":"","timeout_seconds":0}`, "timeout_seconds", `"timeout_seconds" is 0, but must be between 0.001 and 3600.`},
		{`{"language":"python","code":"","timeout_seconds":-1}`, "timeout_seconds", `must be between 0.001 and 3600.`},
		{`{"language":"python","code":"","timeout_seconds":1e300}`, "timeout_seconds", `must be between 0.001 and 3600.`},
		{`{"language":"python","code":"","stdin":true}`, "stdin", `"stdin" must be a string, but it is a boolean.`},
		{`{"language":"python","code":"","args":[null]}`, "args", `"args" must be an array of strings, but element 0 is null.`},
		{`{"language":"python","code":"","files":{"a":7}}`, "files", `"files" must be an array of {path, text}, {path, base64} or {path, uri}, but it is an object.`},
		{`{"language":"python","code":"","files":{"a":{"path":"b","text":""}}}`, "files", `but it is an object.`},
		{`{"language":"python","code":"","files":[{"path":"a","name":"b","text":""}]}`, "files", `"files" has as element 0 no object`},
		{`{"language":"python","code":"","files":["a"]}`, "files", `"files" has as element 0 no object`},
		{`{"language":"python","code":"","files":[{"text":""}]}`, "files", `"files" has as element 0 no object`},
		{`{"language":"python","code":"","files":[{"path":"a","text":"","mode":7}]}`, "files", `"files" has as element 0 no object`},
		{`{"language":"python","code":"","files":[{"path":"a"}]}`, "files", `give one.`},
		{`{"language":"python","code":"","files":[{"path":"a","text":"","base64":""}]}`, "files", `give one.`},
		{`{"language":"python","code":"","files":[{"path":"a","base64":"!"}]}`, "files", `that is not base64`},
	} {
		_, err := parse(tt.args)
		var bad *runners.RequestError
		if !errors.As(err, &bad) || bad.Argument != tt.argument || !strings.Contains(bad.Message, tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.args, err, tt.want)
		}
	}
}

// What Request.Check refuses is refused here, before the call waits.
func TestArgumentsAreChecked(t *testing.T) {
	for name, args := range map[string]map[string]any{
		"stdin":    {"stdin": strings.Repeat("x", maxStdin+1)},
		"packages": {"packages": []string{""}},
		"args":     {"args": []string{"\x00"}},
		"files":    {"files": []map[string]string{{"path": "../a", "text": ""}}},
	} {
		args["language"], args["code"] = "python", ""
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parse(string(raw))
		var bad *runners.RequestError
		if !errors.As(err, &bad) || bad.Argument != name {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzParseArguments(f *testing.F) {
	f.Add(`{"language":"python","code":"1","packages":["a"],"timeout_seconds":1,"stdin":"","args":["a"],"files":[{"path":"a","base64":"AA=="}]}`)
	f.Add(`{"language":null,"code":{},"files":[null]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, raw string) {
		_, err := parse(raw)
		var bad *runners.RequestError
		var p *protocolError
		if err != nil && !errors.As(err, &bad) && !errors.As(err, &p) {
			t.Errorf("%q: %v is no RequestError", raw, err)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestId":7,"_meta":{"progressToken":"x"}}}`))
	f.Add([]byte(`[{}]`))
	f.Add([]byte(` {"id":null} `))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseMessage(line)
		var p *protocolError
		if err != nil && !errors.As(err, &p) {
			t.Errorf("%q: %v is no protocolError", line, err)
		}
		if err == nil {
			m.modern()
		}
	})
}

// An id goes back as it came, so it must be one that every parser reads.
func TestIDs(t *testing.T) {
	for id, want := range map[string]string{
		`7`: "n7", `-1`: "n-1", `"a"`: "sa", `"\u0061"`: "sa", `""`: "s", `"é"`: "sé",
		`null`: "", `true`: "", `{}`: "", `[ 1 ]`: "", `1e400`: "", `"\ud800"`: "",
		strings.Repeat("9", 500): "", `"` + strings.Repeat("a", maxID) + `"`: "",
	} {
		key, err := idKey(json.RawMessage(id))
		if key != want || (err == nil) != (want != "") {
			t.Errorf("idKey(%.40s) = %.40q, %v; want %q", id, key, err, want)
		}
	}
}

func TestDecoded(t *testing.T) {
	const want = "\xfb\xff\xbe"
	for _, text := range []string{"+/++", "-_--", "+/\r\n++\n", "data:image/png;base64,+/++"} {
		if got, err := decoded(text); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"aGk=": "hi", "aGk": "hi", "": ""} {
		if got, err := decoded(text); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "!!!!", "data:text/plain,hi!", "aGk=aGk="} {
		if got, err := decoded(text); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}
