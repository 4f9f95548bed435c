package index

import (
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// Parse reads a project's page. contentType is the response's header, base the
// page's URL after redirects.
func Parse(contentType string, body []byte, base string) ([]File, error) {
	from, err := url.Parse(base)
	if err != nil {
		return nil, &PageError{"its address is malformed"}
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = ""
	}
	switch media {
	case "application/vnd.pypi.simple.v1+json", "application/json":
		return parseJSON(body, from)
	case "application/vnd.pypi.simple.v1+html", "text/html", "application/xhtml+xml":
		return parseHTML(body, from)
	}
	// Directories and plain file servers send no content type, or guess.
	if strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 64)]), " \t\r\n\ufeff"), "{") {
		return parseJSON(body, from)
	}
	if media == "" || media == "text/plain" || media == "application/octet-stream" {
		return parseHTML(body, from)
	}
	return nil, &PageError{fmt.Sprintf("its content type is %q", media)}
}
