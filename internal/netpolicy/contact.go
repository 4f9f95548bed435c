package netpolicy

import "sync/atomic"

// Contact is one host and port that a run reached, or was refused.
type Contact struct {
	Host     string `json:"host"`
	Port     uint16 `json:"port,omitempty"` // 0: a name that was not looked up
	Count    int    `json:"count"`          // connections or attempts
	Sent     int64  `json:"sent_bytes"`
	Received int64  `json:"received_bytes"`
	Refused  string `json:"refused,omitempty"` // why
	Flag     string `json:"flag,omitempty"`    // what would allow it
}

// Counter counts the bytes of a contact. It is safe for concurrent use.
type Counter struct{ sent, received atomic.Int64 }

// Add adds bytes.
func (c *Counter) Add(sent, received int64) {
	c.sent.Add(sent)
	c.received.Add(received)
}

// contact is a Contact in the making.
type contact struct {
	Contact
	Counter
}

// contact records a contact, up to a bound.
func (r *Run) contact(host string, port uint16, refused *Refused) *Counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.contacts {
		if c.Host == host && c.Port == port && (c.Refused != "") == (refused != nil) {
			c.Count++
			return &c.Counter
		}
	}
	c := &contact{Contact: Contact{Host: host, Port: port, Count: 1}}
	if refused != nil {
		c.Refused, c.Flag = refused.Error(), refused.Flag()
	}
	if len(r.contacts) >= maxContacts {
		r.more++
	} else {
		r.contacts = append(r.contacts, c)
	}
	return &c.Counter
}

// counterOf returns the counter of a contact that was allowed, other if there is none.
func (r *Run) counterOf(host string, port uint16, other *Counter) *Counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.contacts {
		if c.Host == host && c.Port == port && c.Refused == "" {
			return &c.Counter
		}
	}
	return other
}

// missing records what an Interceptor refused.
func (r *Run) missing(t Target, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.contacts) >= maxContacts {
		r.more++
		return
	}
	r.contacts = append(r.contacts, &contact{Contact: Contact{Host: t.Host, Port: t.Addr.Port(), Count: 1, Refused: what}})
}

// Contacts returns what the run reached or was refused so far, and how many more
// there were. A nil Run has none.
func (r *Run) Contacts() (list []Contact, more int) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.contacts {
		now := c.Contact
		now.Sent, now.Received = c.sent.Load(), c.received.Load()
		list = append(list, now)
	}
	return list, r.more
}
