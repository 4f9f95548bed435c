package answer

import (
	"encoding/json"
	"maps"

	"coderunner/internal/images"
	"coderunner/runners"
)

// Structured is an outcome as clients get it: what is empty is left out, and
// the value stands once, as JSON if it has such a form.
type Structured struct {
	Status          runners.Status   `json:"status"`
	Language        runners.Language `json:"language,omitempty"`
	ExitCode        int              `json:"exit_code,omitempty"`
	Stdout          string           `json:"stdout,omitempty"`
	Stderr          string           `json:"stderr,omitempty"`
	StdoutTruncated bool             `json:"stdout_truncated,omitempty"`
	StderrTruncated bool             `json:"stderr_truncated,omitempty"`
	Result          *Value           `json:"result,omitempty"`
	Error           *runners.Error   `json:"error,omitempty"`
	Displays        []Item           `json:"displays,omitempty"`
	Files           []Item           `json:"files,omitempty"`
	Notes           []string         `json:"notes,omitempty"` // sentences about what is not there
	Session         *Session         `json:"session,omitempty"`
}

// Value is the value of the last expression.
type Value struct {
	Text string          `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// Item is a display or a file.
type Item struct {
	Path string `json:"path,omitempty"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Text string `json:"text,omitempty"`
	URI  string `json:"uri,omitempty"`

	Image  *images.Image `json:"-"` // what is shown of it; nil: nothing is
	SHA256 string        `json:"-"`
}

// Session is what a result says of its session.
type Session struct {
	Name  string `json:"name"`
	State int    `json:"state"`
	Note  string `json:"note,omitempty"`
}

type object = map[string]any

// Schema returns the JSON schema of a Structured.
func Schema() map[string]any {
	str, integer, boolean := object{"type": "string"}, object{"type": "integer"}, object{"type": "boolean"}
	list := func(required []string, properties object) object {
		return object{"type": "array", "items": object{"type": "object", "required": required, "properties": properties}}
	}
	item := object{"mime": str, "size": integer, "text": str, "uri": str}
	file := maps.Clone(item)
	file["path"] = str
	return object{
		"type":     "object",
		"required": []string{"status"},
		"properties": object{
			"status": object{"type": "string", "enum": []runners.Status{
				runners.Succeeded, runners.Failed, runners.TimedOut, runners.OutOfMemory,
				runners.OutputLimit, runners.NotInstalled, runners.Cancelled, runners.Paused, runners.Crashed}},
			"language":  object{"type": "string", "description": "The program's language, if the call did not name it."},
			"exit_code": integer,
			"stdout":    str, "stderr": str,
			"stdout_truncated": boolean, "stderr_truncated": boolean,
			"result": object{
				"type":        "object",
				"description": "The value of the last expression: as JSON, or as text if it is not JSON or long.",
				"properties":  object{"text": str, "json": object{}},
			},
			"error": object{
				"type":     "object",
				"required": []string{"type", "message"},
				"properties": object{
					"type": str, "message": str, "traceback": str, "line": integer, "hint": str,
					"packages": list([]string{"name", "reason"}, object{"name": str, "reason": str}),
				},
			},
			"displays": list([]string{"mime", "size"}, item),
			"files":    list([]string{"path", "mime", "size"}, file),
			"notes":    object{"type": "array", "items": str, "description": "What the author of the program should know besides, such as a refusal of the network that it hides."},
			"session":  object{"type": "object", "properties": object{"name": str, "state": integer, "note": str}},
		},
	}
}
