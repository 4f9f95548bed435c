package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// server is a coderunner that serves MCP over stdio, and the client's side of
// the little that is needed of the protocol. Many callers may use it at once.
type server struct {
	talk *talk

	mu      sync.Mutex
	last    int                     // guarded by mu
	waiting map[string]chan message // guarded by mu; nil: the server has ended
}

type object = map[string]any

type message struct {
	ID     json.RawMessage
	Error  *struct{ Message string }
	Result struct {
		StructuredContent struct {
			Status, Stdout string
			Result         *struct {
				Text string
				JSON json.RawMessage
			}
			Error *struct{ Type, Message string }
		}
	}
}

// serve starts a server and shakes hands. The caller closes its talk.
func serve(ctx context.Context, c command) (*server, error) {
	t, err := c.with("serve").talk()
	if err != nil {
		return nil, err
	}
	s := &server{talk: t, waiting: map[string]chan message{}}
	go s.read()
	_, err = s.call(ctx, "initialize", object{
		"protocolVersion": "2025-06-18",
		"capabilities":    object{},
		"clientInfo":      object{"name": "bench", "version": "1"},
	})
	if err == nil {
		err = s.send(object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return s, nil
}

// read hands the answers to those that wait for them.
func (s *server) read() {
	for s.talk.out.Scan() {
		var m message
		if json.Unmarshal(s.talk.out.Bytes(), &m) != nil {
			break
		}
		s.mu.Lock()
		if w := s.waiting[string(m.ID)]; w != nil {
			w <- m
			delete(s.waiting, string(m.ID))
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiting {
		close(w)
	}
	s.waiting = nil
}

// send writes a message; mu keeps lines whole.
func (s *server) send(message object) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.talk.in.Write(append(line, '\n'))
	return err
}

func (s *server) call(ctx context.Context, method string, params object) (message, error) {
	answer := make(chan message, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	if s.waiting != nil {
		s.waiting[strconv.Itoa(id)] = answer
	} else {
		close(answer)
	}
	s.mu.Unlock()
	err := s.send(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return message{}, err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			err = errors.New("the server has ended")
		case m.Error != nil:
			err = fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return m, err
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
}

// runCode fails unless the program succeeds and prints stdout.
func (s *server) runCode(ctx context.Context, language, code, stdout string) error {
	m, err := s.call(ctx, "tools/call", object{"name": "run_code", "arguments": object{
		"language": language, "code": code, "timeout_seconds": 60}})
	if err != nil {
		return err
	}
	out := m.Result.StructuredContent
	switch {
	case out.Error != nil:
		return fmt.Errorf("%s: %s: %.200s", out.Status, out.Error.Type, out.Error.Message)
	case out.Status != "succeeded":
		return fmt.Errorf("run_code: %q", out.Status)
	case out.Result != nil:
		out.Stdout += out.Result.Text + string(out.Result.JSON)
	}
	if out.Stdout != stdout {
		return fmt.Errorf("%w: %.80q, want %.80q", errWrong, out.Stdout, stdout)
	}
	return nil
}
