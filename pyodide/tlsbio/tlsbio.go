// Package tlsbio is the host's half of the guest's modules ssl and _ssl: TLS
// connections over bytes in memory, by crypto/tls, and what ssl asks about
// certificates.
//
// A Conn has no socket: the guest feeds it what the peer sent and takes what is to be sent.
// Every step ends at once, with what it lacks if it is not done. The guest holds all of a
// context's state (see Config), so that a snapshot of it has that; here are only the
// connections, and a few parsed certificates and keys by their digest, which the guest sends
// again if they have been dropped.
//
// The guest is untrusted, and so are its peers. Sizes are bounded; requests that
// make no sense are errors.
//
// # Sources
//
// CPython 3.14's Modules/_ssl.c for what a request means, OpenSSL 3's names of
// errors, ciphers and verification results.
//
// # Limits
//
// As crypto/tls: no renegotiation, no DHE, no PSK, no certificates requested after the
// handshake, no revocation lists. Of several errors of authorities only the first is
// reported.
//
// # Testing
//
// Conns against crypto/tls and one another, certificates of every kind, fuzz tests
// of requests and of what peers send.
package tlsbio

import (
	"crypto/tls"
	"errors"
	"io"
)

const (
	// MaxFeed bounds the ciphertext that a Conn holds, and the plaintext of one
	// Write, in bytes.
	MaxFeed = 1 << 20
	// connMemory is what a Conn occupies at most beside what it was fed, in bytes:
	// crypto/tls's state, a record and the certificates of a peer.
	connMemory = 256 << 10

	recordSize = 16 << 10
)

// Status is how a step ended.
type Status byte

const (
	Done       Status = iota
	WantRead          // more of what the peer sends is needed
	WantConfig        // the server's handshake waits for Configure
	Failed            // see Error
	Closed            // the peer has closed the connection in TLS
)

// Conn is one TLS connection. It is not safe for concurrent use.
type Conn struct {
	store  *Store
	config *built
	bio    bio
	conn   *tls.Conn

	hello   *tls.ClientHelloInfo // of a server's peer
	chains  []string             // the verified chain, in DER
	refusal error                // of the peer's certificate
	session *tls.ClientSessionState
	hs      handshake

	plain   []byte // decrypted and not yet read: a part of record
	record  []byte
	readErr error
	ended   bool // our close_notify was sent
}

// handshake is crypto/tls's, which cannot pause. It runs in a goroutine that stops
// wherever something is missing and runs only while Handshake waits for it.
type handshake struct {
	begun, done bool
	err         error
	stopped     chan Status   // the goroutine has stopped, or is Done
	resume      chan struct{} // closed by Close
	chosen      *built        // by Configure
	alert       byte          // by Refuse
	server      string        // the name that the client asked for
}

// stop has the goroutine wait for the next step.
func (h *handshake) stop(why Status) {
	h.stopped <- why
	<-h.resume
}

// New returns a connection that has done nothing yet.
func New(c Config, store *Store) (*Conn, error) {
	b, err := c.build(store)
	if err != nil {
		return nil, err
	}
	conn := &Conn{store: store, config: b, hs: handshake{stopped: make(chan Status), resume: make(chan struct{})}}
	conn.bio.hs = &conn.hs
	conn.attach(b.tls)
	if c.Server {
		conn.configFor(b.tls)
		conn.conn = tls.Server(&conn.bio, b.tls)
	} else {
		b.tls.ClientSessionCache = &sessions{conn: conn, given: b.session}
		conn.conn = tls.Client(&conn.bio, b.tls)
	}
	return conn, nil
}

// attach has the connection check what the peer shows.
func (c *Conn) attach(t *tls.Config) {
	t.VerifyConnection = func(s tls.ConnectionState) error {
		c.chains, c.refusal = c.config.verify(s)
		return c.refusal
	}
}

// Feed adds ciphertext from the peer; end is set if there will be no more.
func (c *Conn) Feed(data []byte, end bool) error {
	if len(c.bio.in)+len(data) > MaxFeed {
		return errors.New("more ciphertext than a connection holds")
	}
	c.bio.feed(data, end)
	return nil
}

// Output returns the ciphertext for the peer since the last call.
func (c *Conn) Output() []byte { return c.bio.takeOut() }

// Pending is how many decrypted bytes wait to be read.
func (c *Conn) Pending() int { return len(c.plain) }

// Leftover takes what was fed and belongs to no record that was needed: after a
// close_notify it is the peer's plaintext.
func (c *Conn) Leftover() []byte { return c.bio.takeIn() }

// Handshake goes on with the handshake as far as it can.
func (c *Conn) Handshake() (Status, error) {
	h := &c.hs
	if h.done {
		return c.result(h.err)
	}
	if !h.begun {
		h.begun = true
		go func() {
			h.err = c.conn.Handshake()
			h.stopped <- Done
		}()
	} else {
		h.resume <- struct{}{}
	}
	if why := <-h.stopped; why != Done {
		return why, nil
	}
	h.done = true
	if h.err != nil && c.refusal != nil {
		h.err = c.refusal
	}
	return c.result(h.err)
}

func (c *Conn) result(err error) (Status, error) {
	switch {
	case err == nil:
		return Done, nil
	case errors.Is(err, errWantRead):
		return WantRead, nil
	}
	return Failed, c.explain(err)
}

// errEarly is the error of what needs a handshake first.
var errEarly = errors.New("the handshake is not done")

// Read decrypts into p. It returns Done with at least a byte, or why there is none.
func (c *Conn) Read(p []byte) (n int, s Status, err error) {
	if !c.hs.done || c.hs.err != nil {
		return 0, Failed, errEarly
	}
	for n < len(p) {
		if len(c.plain) == 0 && !c.decrypt() {
			break
		}
		k := copy(p[n:], c.plain)
		c.plain = c.plain[k:]
		n += k
	}
	if n > 0 || len(p) == 0 {
		return n, Done, nil
	}
	switch {
	case c.readErr == io.EOF && !c.bio.ended: // close_notify
		return 0, Closed, nil
	case c.readErr == io.EOF:
		return 0, Failed, errTruncated
	}
	s, err = c.result(c.readErr)
	return 0, s, err
}

// decrypt decrypts the next record.
func (c *Conn) decrypt() bool {
	if c.record == nil {
		c.record = make([]byte, recordSize)
	}
	var n int
	n, c.readErr = c.conn.Read(c.record)
	c.plain = c.record[:n]
	return n > 0
}

// Write encrypts p.
func (c *Conn) Write(p []byte) (Status, error) {
	if !c.hs.done || c.hs.err != nil {
		return Failed, errEarly
	}
	if c.ended {
		return Failed, &Error{Reason: "PROTOCOL_IS_SHUTDOWN", Text: "protocol is shutdown"}
	}
	_, err := c.conn.Write(p)
	return c.result(err)
}

// Shutdown sends a close_notify and is Done when the peer has sent one.
func (c *Conn) Shutdown() (Status, error) {
	if !c.hs.done || c.hs.err != nil {
		return Failed, &Error{Reason: "SHUTDOWN_WHILE_IN_INIT", Text: "shutdown while in init"}
	}
	sent := c.ended
	if !sent {
		c.ended = true
		if err := c.conn.CloseWrite(); err != nil {
			return c.result(err)
		}
	}
	if !sent && c.readErr != io.EOF {
		return WantRead, nil // as OpenSSL does: the first call sends
	}
	if len(c.plain) > 0 || c.decrypt() {
		return Failed, &Error{Reason: "APPLICATION_DATA_AFTER_CLOSE_NOTIFY", Text: "application data after close notify"}
	}
	switch {
	case c.readErr == io.EOF && !c.bio.ended:
		return Done, nil
	case c.readErr == io.EOF:
		return Failed, errTruncated
	}
	return c.result(c.readErr)
}

// Close frees the connection. Nothing may be called after it.
func (c *Conn) Close() {
	h := &c.hs
	if h.begun && !h.done {
		h.done = true
		c.bio.closed = true
		close(h.resume)
		for <-h.stopped != Done { // it may stop once more
		}
	}
	c.store.release(c.config.uses)
	if h.chosen != nil && h.chosen != c.config {
		c.store.release(h.chosen.uses)
	}
}

// atMost bounds what Read can return now: a record shrinks when it is decrypted.
func (c *Conn) atMost() int { return len(c.plain) + len(c.bio.in) + recordSize }
