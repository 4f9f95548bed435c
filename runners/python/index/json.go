package index

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json" // encoding/json/v2 of a later Go
	"github.com/go-json-experiment/json/jsontext"
)

// lenient has json accept what encoding/json does.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parseJSON reads the JSON form (PEP 691).
func parseJSON(body []byte, base *url.URL) ([]File, error) {
	var page struct {
		Meta struct {
			APIVersion string `json:"api-version"`
		} `json:"meta"`
		Files []struct {
			Filename string `json:"filename"`
			URL      string `json:"url"`
			Hashes   struct {
				SHA256 string `json:"sha256"`
			} `json:"hashes"`
			RequiresPython string `json:"requires-python"`
			Yanked         any    `json:"yanked"` // boolean or reason
			UploadTime     string `json:"upload-time"`
		} `json:"files"`
	}
	if err := json.Unmarshal(body, &page, lenient); err != nil {
		return nil, &PageError{err.Error()}
	}
	if major, _, _ := strings.Cut(page.Meta.APIVersion, "."); major != "1" {
		return nil, &PageError{fmt.Sprintf("its version is %q, only 1.x is known", page.Meta.APIVersion)}
	}
	if len(page.Files) > maxFiles {
		return nil, &PageError{fmt.Sprintf("it has more than %d files", maxFiles)}
	}
	files := make([]File, 0, len(page.Files))
	for _, f := range page.Files {
		file, ok := resolve(f.URL, base)
		if !ok || f.Filename == "" || f.Filename != path.Base(f.Filename) {
			continue
		}
		file.Filename = f.Filename
		if sum := f.Hashes.SHA256; isSHA256(sum) {
			file.SHA256 = strings.ToLower(sum)
		}
		file.RequiresPython = f.RequiresPython
		switch yanked := f.Yanked.(type) {
		case bool:
			file.Yanked = yanked
		case string:
			file.Yanked = true
		}
		file.Day = day(f.UploadTime)
		files = append(files, file)
	}
	return files, nil
}

// day returns the day of a time in the form of RFC 3339, or "".
func day(text string) string {
	d := text[:min(len(text), len(time.DateOnly))]
	if _, err := time.Parse(time.DateOnly, d); err != nil {
		return ""
	}
	return d
}
