package tlsbio

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
)

// Config is what the guest's context has for a connection.
type Config struct {
	Server    bool
	Name      string // the server's, as a client asks for it
	CheckName bool
	// NoCommonName is set if only alternative names count.
	NoCommonName bool
	Verify       Verify
	Min, Max     uint16 // versions
	Ciphers      []uint16
	Curves       []tls.CurveID
	ALPN         []string
	Roots        []string // keys of the store
	System       bool     // the store's roots, too
	CRL          bool     // a peer must not be revoked
	Chains       []string // keys of the store
	TicketKey    []byte   // of a server; nil: no tickets
	Session      []byte   // of a client, from Info
	AskConfig    bool     // a server's handshake stops with WantConfig
	KeyLog       bool
}

// Verify is ssl.VerifyMode.
type Verify int

const (
	VerifyNone Verify = iota
	VerifyOptional
	VerifyRequired
)

// MissingError is the error of New and Configure when the store lacks something.
type MissingError struct{ Key string }

func (e *MissingError) Error() string { return "the store lacks " + e.Key }

// Bounds of a Config.
const (
	maxList   = 64
	maxALPN   = 255
	maxName   = 255
	maxTicket = 64 << 10
)

// built is a Config ready for use.
type built struct {
	Config
	tls     *tls.Config
	roots   *x509.CertPool
	session *tls.ClientSessionState
	keys    *bytes.Buffer // the key log
	uses    []*item
}

func (c Config) build(store *Store) (*built, error) {
	if max(len(c.Ciphers), len(c.Curves), len(c.ALPN), len(c.Roots), len(c.Chains)) > maxList ||
		len(c.Name) > maxName || len(c.Session) > maxTicket || c.Verify < VerifyNone || c.Verify > VerifyRequired {
		return nil, errors.New("a configuration with values out of range")
	}
	b := &built{Config: c, tls: &tls.Config{
		DynamicRecordSizingDisabled: true, // as OpenSSL: what is sent at once is read at once
		MinVersion:                  c.Min, MaxVersion: c.Max, CipherSuites: c.Ciphers, CurvePreferences: c.Curves, NextProtos: c.ALPN,
		ServerName: c.Name, SessionTicketsDisabled: c.Server && len(c.TicketKey) == 0,
		InsecureSkipVerify: true, // VerifyConnection verifies
	}}
	if len(c.TicketKey) == 32 {
		b.tls.SetSessionTicketKeys([][32]byte{[32]byte(c.TicketKey)})
	}
	if c.Server && c.Verify == VerifyOptional {
		b.tls.ClientAuth = tls.RequestClientCert
	} else if c.Server && c.Verify == VerifyRequired {
		b.tls.ClientAuth = tls.RequireAnyClientCert
	}
	for _, p := range c.ALPN {
		if p == "" || len(p) > maxALPN {
			return nil, errors.New("a protocol's name of a bad length")
		}
	}
	for _, key := range c.Chains {
		it, err := store.get(key)
		if err != nil {
			return nil, err
		}
		b.uses = append(b.uses, it)
		if it.chain != nil {
			b.tls.Certificates = append(b.tls.Certificates, *it.chain)
		}
	}
	if c.Verify != VerifyNone {
		it, err := store.pool(c.Roots, c.System, !c.Server)
		if err != nil {
			return nil, err
		}
		b.uses = append(b.uses, it)
		b.roots = it.pool
	}
	if len(c.Session) > 0 {
		b.session = readSession(c.Session)
	}
	b.tls.GetClientCertificate = b.clientCertificate
	store.hold(b.uses)
	if c.KeyLog {
		b.keys = new(bytes.Buffer)
		b.tls.KeyLogWriter = b.keys
	}
	return b, nil
}

// clientCertificate chooses a client's certificate. As with OpenSSL, what
// authorities the server has named does not matter.
func (b *built) clientCertificate(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	asked.AcceptableCAs = nil
	for i := range b.tls.Certificates {
		if asked.SupportsCertificate(&b.tls.Certificates[i]) == nil {
			return &b.tls.Certificates[i], nil
		}
	}
	return new(tls.Certificate), nil
}

// configFor has a server choose by what the client says.
func (c *Conn) configFor(t *tls.Config) {
	t.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c.hello = hello
		if c.config.AskConfig {
			h := &c.hs
			h.server = hello.ServerName
			h.stop(WantConfig)
			switch {
			case c.bio.closed:
				return nil, errClosed
			case h.alert != 0:
				c.bio.replace = h.alert
				return nil, errRefused
			case h.chosen != nil:
				c.store.release(c.config.uses)
				c.config = h.chosen
				c.attach(c.config.tls)
			}
		}
		chosen := c.config.tls.Clone()
		chosen.GetConfigForClient = nil
		if len(c.config.tls.Certificates) == 0 {
			c.bio.replace = alertHandshakeFailure
			return nil, errNoShared
		}
		// OpenSSL goes on without a protocol that both know.
		both := func(p string) bool { return slices.Contains(hello.SupportedProtos, p) }
		if !slices.ContainsFunc(chosen.NextProtos, both) {
			chosen.NextProtos = nil
		}
		return chosen, nil
	}
}

// ServerName is what the client of a server has asked for.
func (c *Conn) ServerName() string { return c.hs.server }

// Configure ends a WantConfig with another configuration.
func (c *Conn) Configure(chosen Config) error {
	if c.hs.chosen != nil {
		return errors.New("the connection has its configuration")
	}
	chosen.Server, chosen.AskConfig = true, false
	b, err := chosen.build(c.store)
	c.hs.chosen = b
	return err
}

// Refuse ends a WantConfig with an alert for the client.
func (c *Conn) Refuse(alert byte) { c.hs.alert = alert }

// sessions is a client's cache of one session.
type sessions struct {
	conn  *Conn
	given *tls.ClientSessionState
}

func (s *sessions) Get(string) (*tls.ClientSessionState, bool) { return s.given, s.given != nil }
func (s *sessions) Put(_ string, state *tls.ClientSessionState) {
	if state != nil {
		s.conn.session = state
	}
}

// A session's bytes are its ticket's length, in two bytes, the ticket and the state.

func writeSession(s *tls.ClientSessionState) []byte {
	ticket, state, err := s.ResumptionState()
	if err != nil || state == nil || len(ticket) > 0xffff {
		return nil
	}
	b, err := state.Bytes()
	if err != nil {
		return nil
	}
	return slices.Concat([]byte{byte(len(ticket) >> 8), byte(len(ticket))}, ticket, b)
}

// readSession returns nil for what is not a session: then there is a new one.
func readSession(b []byte) *tls.ClientSessionState {
	if len(b) < 2 {
		return nil
	}
	n := int(b[0])<<8 | int(b[1])
	if b = b[2:]; n > len(b) {
		return nil
	}
	state, err := tls.ParseSessionState(b[n:])
	if err != nil {
		return nil
	}
	s, err := tls.NewResumptionState(b[:n], state)
	if err != nil {
		return nil
	}
	return s
}

// Info is what is known of a connection after its handshake.
type Info struct {
	Version  uint16   `json:"version"`
	Cipher   uint16   `json:"cipher"`
	ALPN     string   `json:"alpn"`
	Reused   bool     `json:"reused"`
	Peer     [][]byte `json:"peer"`
	Verified [][]byte `json:"verified"`
	Unique   []byte   `json:"unique"` // the channel binding tls-unique
	Shared   []uint16 `json:"shared"` // ciphers of a server's client
	Session  []byte   `json:"session"`
	Keys     string   `json:"keys"` // lines of the key log since the last call
}

// Info returns what is known now. A client's session may come after the handshake.
func (c *Conn) Info() (*Info, error) {
	if !c.hs.done {
		return nil, errEarly
	}
	s := c.conn.ConnectionState()
	info := &Info{Version: s.Version, Cipher: s.CipherSuite, ALPN: s.NegotiatedProtocol, Reused: s.DidResume, Unique: s.TLSUnique}
	for _, cert := range s.PeerCertificates {
		info.Peer = append(info.Peer, cert.Raw)
	}
	for _, der := range c.chains {
		info.Verified = append(info.Verified, []byte(der))
	}
	if c.hello != nil {
		info.Shared = c.hello.CipherSuites[:min(len(c.hello.CipherSuites), maxList)]
	}
	if c.session != nil {
		info.Session = writeSession(c.session)
	}
	if k := c.config.keys; k != nil {
		info.Keys = k.String()
		k.Reset()
	}
	return info, nil
}
