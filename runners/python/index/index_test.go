package index_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"coderunner/runners/python/index"

	"github.com/google/go-cmp/cmp"
)

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const page = `<!DOCTYPE html><html><head><title>Links for demo</title></head><body>
<a href="../../files/demo-1.0-py3-none-any.whl#sha256=` + sum + `" data-requires-python="&gt;=3.8">demo-1.0-py3-none-any.whl</a><br/>
<A HREF='https://other.invalid/demo-1.1.tar.gz' data-yanked="broken">demo-1.1.tar.gz</A>
<a href="/demo-1.2%2Blocal-py3-none-any.whl#sha256=nonsense" data-yanked>x</a>
<a href="javascript:alert(1)">demo-1.3</a><a href="file:///etc/demo-1">f</a><a href="..">up</a><a>none</a>
<script>document.write('<a href="demo-9.9-py3-none-any.whl">')</script>
</body></html>`

const document = `{"meta": {"api-version": "1.4"}, "name": "demo", "versions": ["1.0"], "files": [
 {"filename": "demo-1.0-py3-none-any.whl", "url": "https://u:p@index.invalid/files/demo-1.0-py3-none-any.whl",
  "hashes": {"sha256": "` + sum + `", "md5": "x"}, "requires-python": ">=3.8", "yanked": false, "size": 12},
 {"filename": "demo-1.1.tar.gz", "url": "demo-1.1.tar.gz", "hashes": {}, "yanked": "broken", "requires-python": null},
 {"filename": "../x", "url": "x", "hashes": {}}]}`

func TestParseHTML(t *testing.T) {
	got, err := index.Parse("text/html; charset=utf-8", []byte(page), "https://u:p@index.invalid/simple/demo/")
	if err != nil {
		t.Fatal(err)
	}
	want := []index.File{
		{Filename: "demo-1.0-py3-none-any.whl", URL: "https://u:p@index.invalid/files/demo-1.0-py3-none-any.whl", SHA256: sum, RequiresPython: ">=3.8"},
		{Filename: "demo-1.1.tar.gz", URL: "https://other.invalid/demo-1.1.tar.gz", Yanked: true},
		{Filename: "demo-1.2+local-py3-none-any.whl", URL: "https://u:p@index.invalid/demo-1.2%2Blocal-py3-none-any.whl", Yanked: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseJSON(t *testing.T) {
	for _, contentType := range []string{"application/vnd.pypi.simple.v1+json", "text/plain", ""} {
		got, err := index.Parse(contentType, []byte(document), "https://index.invalid/simple/demo/")
		if err != nil {
			t.Fatal(err)
		}
		want := []index.File{
			{Filename: "demo-1.0-py3-none-any.whl", URL: "https://u:p@index.invalid/files/demo-1.0-py3-none-any.whl", SHA256: sum, RequiresPython: ">=3.8"},
			{Filename: "demo-1.1.tar.gz", URL: "https://index.invalid/simple/demo/demo-1.1.tar.gz", Yanked: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", contentType, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ contentType, body, want string }{
		{"application/json", `{"files": [`, "unexpected EOF"},
		{"application/json", `{"files": []}`, "only 1.x"},
		{"application/vnd.pypi.simple.v1+json", `{"meta": {"api-version": "2.0"}, "files": []}`, "only 1.x"},
		{"image/png", "\x89PNG", "image/png"},
		{"text/html", "<a href='" + strings.Repeat("x", 2<<20), "exceeded"},
	} {
		_, err := index.Parse(test.contentType, []byte(test.body), "https://index.invalid/")
		if _, ok := errors.AsType[*index.PageError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Parse(%s, %.20s) = %v, want a PageError with %q", test.contentType, test.body, err, test.want)
		}
	}
}

// Links to files of this machine are followed from a directory only.
func TestParseFolder(t *testing.T) {
	got, err := index.Parse("", []byte(`<a href="demo-1.0-py3-none-any.whl">`), "file:///srv/simple/demo/index.html")
	if err != nil || len(got) != 1 || got[0].URL != "file:///srv/simple/demo/demo-1.0-py3-none-any.whl" {
		t.Errorf("Parse = %v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("text/html", page)
	f.Add("application/json", document)
	f.Fuzz(func(t *testing.T, contentType, body string) {
		files, err := index.Parse(contentType, []byte(body), "https://index.invalid/simple/demo/")
		if err != nil {
			return
		}
		for _, file := range files {
			if !strings.HasPrefix(file.URL, "http") || file.SHA256 != "" && len(file.SHA256) != 64 {
				t.Errorf("%+v", file)
			}
		}
	})
}

// TestLinks compares the addresses of files with what package url makes of the links.
func TestLinks(t *testing.T) {
	base, _ := url.Parse("https://index.invalid/simple/demo/")
	for _, link := range []string{
		"https://files.invalid/packages/1d/2e/demo-1.0+cpu_1-py3-none-any.whl", "https://files.invalid/a/../b/demo.whl", "https://files.invalid/./demo.whl",
		"https://files.invalid/a%2Bb/demo.whl", "https://files.invalid//demo.whl", "https://FILES.invalid/demo.whl", "https://files.invalid:8443/demo.whl",
		"https://files.invalid/demo.whl?a=b", "https://u:p@files.invalid/demo.whl", "http://files.invalid/demo.whl", "HTTPS://files.invalid/demo.whl", " https://files.invalid/demo.whl",
		"https://files.invalid/a b/demo.whl", "https://files.invalid/é/demo.whl", "../demo.whl", "/demo.whl",
	} {
		body := fmt.Sprintf(`{"meta": {"api-version": "1.0"}, "files": [{"filename": "demo.whl", "url": %q}]}`, link)
		got, err := index.Parse("application/json", []byte(body), base.String())
		want, werr := base.Parse(strings.TrimSpace(link))
		if err != nil || werr != nil || len(got) != 1 || got[0].URL != want.String() {
			t.Errorf("%s: %v, %v, want %v", link, got, err, want)
		}
	}
}
