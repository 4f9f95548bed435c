package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

// maxID is how long a request's id may be, in bytes.
const maxID = 1024

// maxOther is how long a message may be, in bytes, apart from the arguments of
// a call: the MCP library decodes it several times.
const maxOther = 1 << 20

// message is one JSON-RPC message. Its line is decoded once, into this.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Params  params          `json:"params"`

	raw  []byte // what the MCP library gets: the line, without the arguments
	size int    // of the line
	key  string // the id in one spelling; "" for a notification
}

// params are the parameters that the transport and tools/call look at.
type params struct {
	Name      json.RawMessage            `json:"name,omitempty"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
	RequestID json.RawMessage            `json:"requestId,omitempty"` // of notifications/cancelled
	Meta      map[string]json.RawMessage `json:"_meta,omitempty"`
	URI       json.RawMessage            `json:"uri,omitempty"` // of resources/read

	// Of a call that answers a question: see dialogue.go.
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
	RequestState   json.RawMessage            `json:"requestState,omitempty"`

	badArguments error // a *runners.RequestError: they are not an object
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

// parseMessage decodes one line. The error is a *protocolError.
func parseMessage(line []byte) (*message, error) {
	if !utf8.Valid(line) {
		return nil, &protocolError{mcp.PARSE_ERROR, "the message is not UTF-8", nil}
	}
	m := &message{raw: line, size: len(line)}
	err := json.Unmarshal(line, m)
	wrongType, _ := errors.AsType[*json.UnmarshalTypeError](err)
	if err != nil && wrongType == nil {
		return nil, &protocolError{mcp.PARSE_ERROR, "the message is not JSON: this is an MCP server; coderunner run runs a program", nil}
	}
	switch bytes.TrimLeft(line, " \t\r\n")[0] {
	case '{':
	case '[':
		return nil, invalid(nil, "batches are not supported: send one message a line")
	default:
		return nil, invalid(nil, "a message is a JSON object")
	}
	if m.key, err = idKey(m.ID); err != nil {
		return nil, invalid(nil, "%v", err)
	}
	if wrongType != nil && !strings.HasPrefix(wrongType.Field, "params") {
		return nil, invalid(m.ID, "%q must be a %s, but it is a JSON %s", wrongType.Field, wrongType.Type, wrongType.Value)
	}
	if m.JSONRPC != mcp.JSONRPC_VERSION {
		return nil, invalid(m.ID, `"jsonrpc" must be "2.0"`)
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return nil, invalid(m.ID, `"method" is missing`)
	}
	if m.Method == string(mcp.MethodToolsCall) {
		if err := m.takeArguments(wrongType); err != nil {
			return nil, err
		}
	}
	if m.Method != "" && len(m.raw) > maxOther {
		return nil, invalid(m.ID, "the message is longer than %d bytes apart from the arguments of run_code", maxOther)
	}
	return m, nil
}

// takeArguments leaves the arguments of a call out of what the library gets.
// wrongType is the first part of the message that has the wrong type, if any.
func (m *message) takeArguments(wrongType *json.UnmarshalTypeError) error {
	switch {
	case wrongType == nil:
	case wrongType.Field == "params.arguments":
		m.Params.badArguments = runners.BadArgument("arguments", "must be an object, but it is a JSON %s.", wrongType.Value)
	default:
		return invalid(m.ID, "%q must be an object, but it is a JSON %s", wrongType.Field, wrongType.Value)
	}
	var err error
	m.raw, err = json.Marshal(map[string]any{"jsonrpc": m.JSONRPC, "id": m.ID, "method": m.Method,
		"params": params{Name: m.Params.Name, Meta: m.Params.Meta}})
	if err != nil {
		return fmt.Errorf("marshal message: %w", err)
	}
	return nil
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
	case runners.PortableJSON(id) == nil:
		return "", errors.New("the id is a number that is too large for some parsers")
	case id[0] == '"':
		var s string
		if err := json.Unmarshal(id, &s); err != nil || strings.ContainsRune(s, utf8.RuneError) {
			return "", errors.New("the id is not a string of Unicode, such as one with a lone surrogate")
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

// outlives reports whether a call goes on when its connection drops.
func (m *message) outlives() bool {
	name := m.Params.Arguments["session"]
	return m.Method == string(mcp.MethodToolsCall) && !m.modern() && len(name) > 2 && name[0] == '"'
}
