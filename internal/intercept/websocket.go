package intercept

import (
	"cmp"
	"errors"
	"io"

	"github.com/gobwas/ws"
)

// maxMessage bounds a WebSocket's message, which is looked at as a whole: a secret may be
// in two of its frames.
const maxMessage = maxRecorded

// maxControl is the longest payload of a control frame (RFC 6455, section 5.5).
const maxControl = 125

// redactMessages copies the frames of a server's half of a WebSocket, with the secrets
// replaced. The frames of a message become one.
func (s *Secrets) redactMessages(w io.Writer, r io.Reader) error {
	var message ws.Frame // whose end has not come
	for {
		h, err := ws.ReadHeader(r)
		if err != nil {
			return err
		}
		control := h.OpCode.IsControl()
		if h.Length > maxMessage-int64(len(message.Payload)) || control && h.Length > maxControl {
			return errors.New("the message is too long")
		}
		payload, err := io.ReadAll(io.LimitReader(r, h.Length))
		if err != nil || int64(len(payload)) < h.Length {
			return cmp.Or(err, io.ErrUnexpectedEOF)
		}
		f := ws.UnmaskFrameInPlace(ws.Frame{Header: h, Payload: payload})
		if !control {
			if h.OpCode != ws.OpContinuation {
				message = ws.Frame{Header: ws.Header{OpCode: h.OpCode, Fin: true}}
			}
			message.Payload = append(message.Payload, f.Payload...)
			if !h.Fin {
				continue
			}
			f, message = message, ws.Frame{}
		}
		text := s.Redact(string(f.Payload))
		if control {
			text = text[:min(len(text), maxControl)]
		}
		f.Payload, f.Header.Length = []byte(text), int64(len(text))
		if err := ws.WriteFrame(w, f); err != nil {
			return err
		}
	}
}
