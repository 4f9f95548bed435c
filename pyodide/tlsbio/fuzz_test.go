package tlsbio

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRequests makes requests of a session as a program could.
func FuzzRequests(f *testing.F) {
	config, _ := json.Marshal(Config{Min: 0x303, Max: 0x304, Name: "localhost", ALPN: []string{"h2"}})
	server, _ := json.Marshal(Config{Min: 0x303, Max: 0x304, Server: true, AskConfig: true})
	step := []byte{0, 1, 0, 0, 0}
	f.Add(bytes.Join([][]byte{append([]byte("O"), config...), append([]byte("H"), step...), append([]byte("R"), step...), []byte("I")}, []byte{0}))
	f.Add(bytes.Join([][]byte{append([]byte("O"), server...), append([]byte("H"), step...), []byte("A1"), []byte("L"), append([]byte("S"), step...)}, []byte{0}))
	f.Add([]byte("W1\x00C{}\x00M0\x00D0\x00K{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		store, held := newStore(1 << 20)
		s := &Session{Store: store}
		for request := range bytes.SplitSeq(b, []byte{0}) {
			if answer := s.Do(request); len(answer) < answerHeader {
				t.Fatalf("%q: %q", request, answer)
			}
		}
		s.Close()
		if *held < 0 {
			t.Errorf("%d bytes are held", *held)
		}
	})
}

// FuzzPeer feeds connections what a peer could send.
func FuzzPeer(f *testing.F) {
	store, _ := newStore(1 << 20)
	chain := store.addChain(f, newLeaf(f, nil, nil))
	p := connect(f, store, Config{}, Config{Chains: []string{chain}})
	p.client.Handshake()
	hello := p.client.Output()
	f.Add(true, hello)
	p.server.Feed(hello, false)
	p.server.Handshake()
	f.Add(false, p.server.Output())
	f.Add(true, []byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(false, []byte{21, 3, 3, 0, 2, 2, 40})
	f.Fuzz(func(t *testing.T, server bool, b []byte) {
		c, err := New(Config{Server: server, Chains: []string{chain}, Min: 0x301, Max: 0x304}, store)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Handshake()
		c.Feed(b[:len(b)/2], false)
		c.Handshake()
		c.Feed(b[len(b)/2:], true)
		if s, _ := c.Handshake(); s == WantRead {
			t.Error("it waits after the end")
		}
	})
}

// FuzzSession reads what a program says is a session, a key or a certificate.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Add([]byte(encryptedPEM))
	f.Add(newLeaf(f, nil, nil).cert.Raw)
	f.Fuzz(func(t *testing.T, b []byte) {
		readSession(b)
		decryptPKCS8(b, []byte("hello"))
		if d, err := Describe(b); err == nil {
			if _, err := json.Marshal(d); err != nil {
				t.Error(err)
			}
		}
	})
}
