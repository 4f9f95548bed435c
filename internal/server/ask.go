package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/runners"
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

// withAsker returns a context of a request, with the user who can be asked in the
// answer to it. A nil write cannot send requests.
func (c *conn) withAsker(ctx context.Context, m *message, write writeFunc) context.Context {
	var a asker
	switch {
	case !c.server.ask || m.Method != string(mcp.MethodToolsCall):
		return ctx
	case m.modern():
		a = &dialogue{server: c.server}
	case write != nil:
		a = &requester{c, write}
	default:
		return ctx
	}
	return context.WithValue(ctx, askerKey{}, a)
}

// elicits reports whether a client asks its user what a form asks.
func elicits(c mcp.ClientCapabilities) bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// askFor sets the Ask of a call's program, if there is a user who can be asked.
func (s *Server) askFor(ctx context.Context, req *runners.Request) {
	a, _ := ctx.Value(askerKey{}).(asker)
	if a == nil || !elicits(clientCapabilities(ctx)) {
		return
	}
	progress := req.Progress
	req.Ask = func(run context.Context, host string, port uint16) (bool, error) {
		progress.Report(runners.Progress{Phase: askPhase, Item: fmt.Sprintf("%s:%d", host, port)})
		defer progress.Report(runners.Progress{Phase: "run"})
		run, cancel := context.WithTimeoutCause(run, askTime, errNoAnswer)
		defer cancel()
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		allow, err := a.allows(run, host, port)
		s.log.Info("the user was asked", zap.String("host", host), zap.Uint16("port", port), zap.Bool("allow", allow), zap.Error(err))
		return allow, err
	}
}

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

// expect enters a request of ours, and returns where its response comes.
func (c *conn) expect(key string) <-chan *message {
	answered := make(chan *message, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = map[string]chan<- *message{}
	}
	c.asked[key] = answered
	return answered
}

func (c *conn) expectNoMore(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, key)
}

// answered takes a response to a request of ours. One that nobody waits for is dropped.
func (c *conn) answered(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answered := c.asked[m.key]; answered != nil {
		delete(c.asked, m.key)
		answered <- m
	}
}

// describeAsk returns a filter of tools/list that tells the model of a user who can be
// asked.
func (s *Server) describeAsk(c Config) func(context.Context, []mcp.Tool) []mcp.Tool {
	end := "Permissions: " + permissions(c.Policy) + ".\n"
	return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		if !s.ask || c.Policy.Net.All || c.Policy.DenyNet.All || !elicits(clientCapabilities(ctx)) {
			return tools
		}
		tools = slices.Clone(tools)
		for i := range tools {
			tools[i].Description = strings.Replace(tools[i].Description, end, end+"Hosts without permission: connect; the user is asked.\n", 1)
		}
		return tools
	}
}
