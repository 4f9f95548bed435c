package toolbox

import (
	"encoding/json"

	"coderunner/runners"
)

// part is a part of a result.
type part struct {
	Value json.RawMessage `json:"v,omitempty"`
	Blob  *content        `json:"blob,omitempty"`
	Link  *content        `json:"link,omitempty"`
}

type content struct {
	Data   []byte `json:"data,omitempty"`
	MIME   string `json:"mime,omitempty"`
	URI    string `json:"uri,omitempty"`
	Name   string `json:"name,omitempty"`
	Server string `json:"server,omitempty"` // where a link is read
}

// parts returns a result's parts. Text beside a structured result is the same once more.
func parts(server string, r *runners.ToolResult) []part {
	list := []part{}
	if r.Structured != nil {
		list = append(list, part{Value: r.Structured})
	}
	for _, c := range r.Content {
		switch {
		case c.Type == "resource_link":
			list = append(list, part{Link: &content{MIME: c.MIME, URI: c.URI, Name: c.Name, Server: server}})
		case c.Data != nil || c.Type == "image" || c.Type == "audio":
			list = append(list, part{Blob: &content{Data: c.Data, MIME: c.MIME, URI: c.URI, Name: c.Name}})
		case r.Structured == nil || c.Type == "resource":
			list = append(list, part{Value: c.Value()})
		}
	}
	return list
}
