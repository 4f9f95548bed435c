package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// askTime is how long a question may be open. The program's clock stands still meanwhile,
// so a question that is forgotten must not keep its place for ever.
const askTime = 2 * time.Minute

var errNoAnswer = errors.New("the user gives no answer")

// asker asks the user of the client that made a request: by a request of ours, or by the
// result of the call (dialogue.go).
type asker interface {
	// allows asks whether a program may connect. The host is a name of letters, digits,
	// dots and hyphens, or an address: nothing in it can look like our own words.
	allows(ctx context.Context, host string, port uint16) (bool, error)
}

// requester asks by a request of ours.
type requester struct {
	conn  *conn
	write writeFunc
}

type askerKey struct{}

// connectQuestion asks whether a program may connect.
func connectQuestion(host string, port uint16) mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Message:         fmt.Sprintf("A program wants to connect to %q at port %d. Allow it for this run?", host, port),
		RequestedSchema: object{"type": "object", "properties": object{}},
	}
}

// decision returns what the user answered.
func decision(result json.RawMessage) (bool, error) {
	var r mcp.ElicitationResponse
	if json.Unmarshal(result, &r) != nil {
		return false, errors.New("the client cannot ask")
	}
	switch r.Action {
	case mcp.ElicitationResponseActionAccept:
		return true, nil
	case mcp.ElicitationResponseActionDecline:
		return false, nil
	}
	return false, errNoAnswer
}

// allows is for asker.
func (a *requester) allows(ctx context.Context, host string, port uint16) (bool, error) {
	id := rand.Text()
	var q mcp.ElicitationRequest
	q.Method = string(mcp.MethodElicitationCreate)
	q.Params = connectQuestion(host, port)
	answered := a.conn.expect("s" + id)
	defer a.conn.expectNoMore("s" + id)
	err := a.write(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		mcp.ElicitationRequest
	}{mcp.JSONRPC_VERSION, id, q})
	if err != nil {
		return false, err
	}
	select {
	case m := <-answered:
		return decision(m.Result) // none with an error
	case <-ctx.Done():
		_ = a.write(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{AdditionalFields: object{"requestId": id, "reason": "the program does not wait any longer"}},
		}})
		return false, context.Cause(ctx)
	}
}
