package tlsbio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// A Session is what the guest has open: it makes requests, one after the other. A
// request is a letter and its argument; an answer is a header, plaintext and
// ciphertext, or JSON in the place of both:
//
//	byte    status
//	uint32  plaintext that is pending
//	uint32  length of the plaintext, or of the JSON
//	uint32  length of the ciphertext
//
// Integers are little-endian. The requests:
//
//	O config         opens the connection
//	H flags n data   feeds ciphertext and goes on with the handshake
//	R flags n data   feeds ciphertext and reads n bytes
//	S flags n data   feeds ciphertext and shuts down
//	W data           encrypts
//	C config         answers a handshake that waits for a configuration
//	A alert          refuses it
//	I                returns Info as JSON
//	L                returns the ciphertext that was not used, as plaintext
//	M der            keeps authorities and returns what they are as JSON
//	K json           keeps a chain and returns it as plaintext
//	D der            describes a certificate in JSON
type Session struct {
	Store *Store
	conn  *Conn
}

// The statuses of answers beside those of steps.
const (
	answerJSON Status = 16 + iota
	answerMissing
	answerRefused // the request makes no sense; JSON
)

const (
	answerHeader = 13
	stepHeader   = 5 // flags and n
	flagEnd      = 1
	maxRead      = MaxFeed
)

// MaxRequest bounds a request in bytes.
const MaxRequest = 4 << 20

// answer is what a request returns.
type answer struct {
	status Status
	plain  []byte
	err    error
}

// Do makes one request.
func (s *Session) Do(request []byte) []byte {
	a := answer{err: errors.New("an empty request")}
	if len(request) > 0 {
		a = s.dispatch(request[0], request[1:])
	}
	var own *Error
	var missing *MissingError
	switch {
	case errors.As(a.err, &missing):
		a.status, a.plain = answerMissing, []byte(missing.Key)
	case errors.As(a.err, &own):
		a.status, a.plain = Failed, encode(own)
	case a.err != nil:
		a.status, a.plain = answerRefused, encode(a.err.Error())
	}
	var cipher []byte
	b := make([]byte, answerHeader, answerHeader+len(a.plain))
	b[0] = byte(a.status)
	if c := s.conn; c != nil {
		cipher = c.Output()
		binary.LittleEndian.PutUint32(b[1:], uint32(c.Pending()))
	}
	binary.LittleEndian.PutUint32(b[5:], uint32(len(a.plain)))
	binary.LittleEndian.PutUint32(b[9:], uint32(len(cipher)))
	return append(append(b, a.plain...), cipher...)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(err.Error())
	}
	return b
}

func jsonAnswer(v any, err error) answer { return answer{answerJSON, encode(v), err} }

func (s *Session) dispatch(what byte, b []byte) answer {
	switch what {
	case 'M':
		return jsonAnswer(s.Store.AddRoots(b))
	case 'D':
		return jsonAnswer(Describe(b))
	case 'K':
		var k struct{ Chain, Key, Password []byte }
		if err := json.Unmarshal(b, &k); err != nil {
			return answer{err: err}
		}
		text, err := s.Store.AddChain(k.Chain, k.Key, k.Password)
		return answer{Done, text, err}
	case 'O':
		return s.open(b)
	}
	if s.conn == nil {
		return answer{err: errors.New("there is no connection")}
	}
	switch what {
	case 'H', 'R', 'S':
		return s.step(what, b)
	case 'W':
		if len(b) > MaxFeed {
			return answer{err: errors.New("too much plaintext")}
		}
		status, err := s.conn.Write(b)
		return answer{status: status, err: err}
	case 'C':
		c, err := readConfig(b)
		if err == nil {
			err = s.conn.Configure(c)
		}
		return answer{err: err}
	case 'A':
		if len(b) != 1 {
			return answer{err: errors.New("an alert is a byte")}
		}
		s.conn.Refuse(b[0])
		return answer{}
	case 'I':
		return jsonAnswer(s.conn.Info())
	case 'L':
		return answer{plain: s.conn.Leftover()}
	}
	return answer{err: errors.New("an unknown request")}
}

func (s *Session) open(b []byte) answer {
	if s.conn != nil {
		return answer{err: errors.New("there is a connection already")}
	}
	c, err := readConfig(b)
	if err != nil {
		return answer{err: err}
	}
	if !s.Store.Reserve(connMemory) {
		return answer{err: errMemory}
	}
	if s.conn, err = New(c, s.Store); err != nil {
		s.conn = nil
		s.Store.Unreserve(connMemory)
	}
	return answer{err: err}
}

func readConfig(b []byte) (c Config, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(&c)
	return c, err
}

// step feeds and goes on.
func (s *Session) step(what byte, b []byte) answer {
	if len(b) < stepHeader {
		return answer{err: errors.New("a step without its header")}
	}
	n := int(binary.LittleEndian.Uint32(b[1:]))
	if err := s.conn.Feed(b[stepHeader:], b[0]&flagEnd != 0); err != nil {
		return answer{err: err}
	}
	switch what {
	case 'H':
		status, err := s.conn.Handshake()
		a := answer{status: status, err: err}
		if status == WantConfig {
			a.plain = encode(s.conn.ServerName())
		}
		return a
	case 'S':
		status, err := s.conn.Shutdown()
		return answer{status: status, err: err}
	}
	p := make([]byte, min(n, maxRead, s.conn.atMost()))
	n, status, err := s.conn.Read(p)
	return answer{status, p[:n], err}
}

// Close frees the connection.
func (s *Session) Close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
		s.Store.Unreserve(connMemory)
	}
}
