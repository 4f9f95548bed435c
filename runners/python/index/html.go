package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// parseHTML reads the anchors of a page, one token at a time.
func parseHTML(body []byte, base *url.URL) ([]File, error) {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(1 << 20)
	var files []File
	for {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				return nil, &PageError{z.Err().Error()}
			}
			return files, nil
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if !more {
				continue
			}
			switch string(name) {
			case "a":
				if file, ok := anchor(attributes(z), base); ok {
					files = append(files, file)
				}
				if len(files) > maxFiles {
					return nil, &PageError{fmt.Sprintf("it has more than %d files", maxFiles)}
				}
			case "base":
				if href, ok := attributes(z)["href"]; ok {
					if u, err := base.Parse(href); err == nil && u.Scheme == base.Scheme {
						base = u
					}
				}
			}
		}
	}
}

func attributes(z *html.Tokenizer) map[string]string {
	found := map[string]string{}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, twice := found[string(key)]; !twice {
			found[string(key)] = string(value)
		}
	}
	return found
}

// anchor makes a File of a link. It is false for links without a file name.
func anchor(attr map[string]string, base *url.URL) (File, bool) {
	file, ok := resolve(attr["href"], base)
	if !ok || !strings.Contains(file.Filename, "-") {
		return File{}, false
	}
	file.RequiresPython = attr["data-requires-python"]
	_, file.Yanked = attr["data-yanked"]
	file.Day = day(attr["data-upload-time"]) // as some mirrors have it
	return file, true
}
