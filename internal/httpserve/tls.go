package httpserve

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files that is read again when it changes.
type certificate struct {
	cert, key string

	mu      sync.Mutex
	checked time.Time
	changed time.Time // modification time of the file that was read
	read    *tls.Certificate
}

// loadTLS returns a configuration whose certificate may be replaced on disk.
func loadTLS(cert, key string) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// get is GetCertificate. It looks at the files once a minute; a pair that cannot be
// read, for it is being replaced, leaves the one in force.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read != nil && time.Since(c.checked) < time.Minute {
		return c.read, nil
	}
	c.checked = time.Now()
	info, err := os.Stat(c.cert)
	if err == nil && (c.read == nil || !info.ModTime().Equal(c.changed)) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.read, c.changed = &pair, info.ModTime()
		}
	}
	if c.read != nil {
		return c.read, nil
	}
	return nil, err
}
