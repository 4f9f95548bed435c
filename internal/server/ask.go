package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/tools"
)

// askTime is how long a question may be open. The program's clock stands still meanwhile,
// so a question that is forgotten must not keep its place for ever.
const askTime = 2 * time.Minute

var errNoAnswer = errors.New("the user gives no answer")

// asker asks the user of the client that made a request: by a request of ours, or by the
// result of the call (dialogue.go).
type asker interface {
	// ask asks for the user's consent. The key names the kind of question.
	ask(ctx context.Context, key string, params mcp.ElicitationParams) (consent, error)
}

// consent is what a user has answered: for this once, or, where that was offered, always; and
// what they have filled in.
type consent struct {
	allow, always bool
	content       any
}

// The kinds of questions.
const (
	connectKey = "connect"
	callKey    = "call"
	serverKey  = "server"
)

// requester asks by a request of ours.
type requester struct {
	conn  *conn
	write writeFunc
}

type askerKey struct{}

// connectQuestion asks whether a program may connect. The host is a name of letters, digits,
// dots and hyphens, or an address: nothing in it can look like our own words.
func connectQuestion(host string, port uint16) mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Message:         fmt.Sprintf("A program wants to connect to %q at port %d. Allow it for this run?", host, port),
		RequestedSchema: object{"type": "object", "properties": object{}},
	}
}

// callQuestion asks whether a program may call a tool. What is not ours is between quotes.
func callQuestion(q tools.Question) mcp.ElicitationParams {
	at := ""
	if q.Line > 0 {
		at = fmt.Sprintf(" (line %d)", q.Line)
	}
	return mcp.ElicitationParams{
		Message: fmt.Sprintf("A program%s wants to call the tool %q of the server %q with %q. Allow it?", at, q.Tool, q.Server, q.Arguments),
		RequestedSchema: object{"type": "object", "properties": object{
			"always": object{"type": "boolean", "title": "For all calls of this tool in this run", "default": false},
		}},
	}
}

// serverQuestion is what a server of tools asks, in its own words behind ours.
func serverQuestion(server string, params json.RawMessage) (p mcp.ElicitationParams, err error) {
	err = json.Unmarshal(params, &p)
	p.Meta, p.Message = nil, fmt.Sprintf("The server %q, whose tool a program calls, asks: %s", server, p.Message)
	return p, err
}

// answer returns the answer as a server of tools gets it.
func (c consent) answer(err error) (json.RawMessage, error) {
	r := mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}
	switch {
	case err != nil:
		r.Action = mcp.ElicitationResponseActionCancel
	case c.allow:
		r.Action, r.Content = mcp.ElicitationResponseActionAccept, c.content
	}
	return json.Marshal(r)
}

// decision returns what the user answered.
func decision(result json.RawMessage) (c consent, err error) {
	var r mcp.ElicitationResponse
	if json.Unmarshal(result, &r) != nil {
		return c, errors.New("the client cannot ask")
	}
	fields, _ := r.Content.(map[string]any)
	c.always, c.content = fields["always"] == true, r.Content
	switch r.Action {
	case mcp.ElicitationResponseActionAccept:
		c.allow = true
		return c, nil
	case mcp.ElicitationResponseActionDecline:
		return c, nil
	}
	return c, errNoAnswer
}

// ask is for asker.
func (a *requester) ask(ctx context.Context, _ string, params mcp.ElicitationParams) (consent, error) {
	id := rand.Text()
	var q mcp.ElicitationRequest
	q.Method = string(mcp.MethodElicitationCreate)
	q.Params = params
	answered := a.conn.expect("s" + id)
	defer a.conn.expectNoMore("s" + id)
	err := a.write(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		mcp.ElicitationRequest
	}{mcp.JSONRPC_VERSION, id, q})
	if err != nil {
		return consent{}, err
	}
	select {
	case m := <-answered:
		return decision(m.Result) // none with an error
	case <-ctx.Done():
		_ = a.write(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{AdditionalFields: object{"requestId": id, "reason": "the program does not wait any longer"}},
		}})
		return consent{}, context.Cause(ctx)
	}
}
