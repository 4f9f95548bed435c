package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

// maxID is how long a request's id may be, in bytes.
const maxID = 1024

// message is one JSON-RPC message, as far as the transport cares.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Params  struct {
		RequestID json.RawMessage            `json:"requestId"` // of notifications/cancelled
		Meta      map[string]json.RawMessage `json:"_meta"`
	} `json:"-"`

	raw []byte
	key string // the id in one spelling; "" for a notification
}

// protocolError is a message that gets a JSON-RPC error.
type protocolError struct {
	code int
	text string
	id   json.RawMessage // nil: not known
}

func (e *protocolError) Error() string { return e.text }

func invalid(id json.RawMessage, format string, args ...any) error {
	return &protocolError{mcp.INVALID_REQUEST, fmt.Sprintf(format, args...), id}
}

// parseMessage reads one line. The error is a *protocolError.
func parseMessage(line []byte) (*message, error) {
	line = bytes.TrimSpace(line)
	if !utf8.Valid(line) {
		return nil, &protocolError{mcp.PARSE_ERROR, "the message is not UTF-8", nil}
	}
	if !json.Valid(line) {
		return nil, &protocolError{mcp.PARSE_ERROR, "the message is not JSON", nil}
	}
	if line[0] == '[' {
		return nil, invalid(nil, "batches are not supported: send one message a line")
	}
	if line[0] != '{' {
		return nil, invalid(nil, "a message is a JSON object")
	}
	m := &message{raw: line}
	typeErr := json.Unmarshal(line, m)
	key, err := idKey(m.ID)
	if err != nil {
		return nil, invalid(nil, "%v", err)
	}
	m.key = key
	if typeErr != nil {
		var t *json.UnmarshalTypeError
		if errors.As(typeErr, &t) {
			return nil, invalid(m.ID, "%q must be a %s, but it is a %s", t.Field, t.Type, t.Value)
		}
		return nil, invalid(m.ID, "%v", typeErr)
	}
	if m.JSONRPC != mcp.JSONRPC_VERSION {
		return nil, invalid(m.ID, `"jsonrpc" must be "2.0"`)
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return nil, invalid(m.ID, `"method" is missing`)
	}
	// Params of the wrong type are the method's to refuse.
	var rest struct{ Params json.RawMessage }
	if json.Unmarshal(line, &rest) == nil {
		_ = json.Unmarshal(rest.Params, &m.Params)
	}
	return m, nil
}

// idKey returns an id in one spelling, and "" when there is none. An id goes
// back as it came, so it must be one that every parser reads.
func idKey(id json.RawMessage) (string, error) {
	switch {
	case len(id) == 0:
		return "", nil
	case len(id) > maxID:
		return "", fmt.Errorf("the id is longer than %d bytes", maxID)
	case id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return "", errors.New("an id is a string or a number")
	case !bytes.Equal(runners.PortableJSON(id), id):
		return "", errors.New("the id has a lone surrogate or a number that is too large for some parsers")
	case id[0] == '"':
		var s string
		if err := json.Unmarshal(id, &s); err != nil {
			return "", errors.New("the id is not a string")
		}
		return "s" + s, nil
	}
	return "n" + string(id), nil
}

// modern reports whether the message carries its protocol version itself, as
// revision 2026-07-28 has it instead of the initialize handshake.
func (m *message) modern() bool {
	var version string
	return json.Unmarshal(m.Params.Meta[mcp.MetaKeyProtocolVersion], &version) == nil &&
		mcp.IsModernProtocol(version)
}
