package tlsbio

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
)

// Error is a failure in the terms of OpenSSL and ssl.
type Error struct {
	Library string `json:"library"` // "" means SSL
	Reason  string `json:"reason"`  // "WRONG_VERSION_NUMBER"
	Text    string `json:"text"`

	// Of a certificate's verification; Code is 0 for other failures.
	Code    int    `json:"code"`
	Message string `json:"message"`

	EOF bool `json:"eof"` // the peer went away in the middle
}

func (e *Error) Error() string {
	if e.Code != 0 {
		return e.Message
	}
	return e.Text
}

var (
	errTruncated = &Error{Reason: "UNEXPECTED_EOF_WHILE_READING", Text: "EOF occurred in violation of protocol", EOF: true}
	errNoShared  = &Error{Reason: "NO_SHARED_CIPHER", Text: "no shared cipher"}
	errRefused   = &Error{Reason: "CALLBACK_FAILED", Text: "callback failed"}
)

const alertHandshakeFailure = 40

// alerts are OpenSSL's reasons for the alerts of a peer, by their description.
var alerts = map[uint64]string{
	10: "SSLV3_ALERT_UNEXPECTED_MESSAGE", 20: "SSLV3_ALERT_BAD_RECORD_MAC", 22: "TLSV1_ALERT_RECORD_OVERFLOW",
	40: "SSLV3_ALERT_HANDSHAKE_FAILURE", 42: "SSLV3_ALERT_BAD_CERTIFICATE", 43: "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
	44: "SSLV3_ALERT_CERTIFICATE_REVOKED", 45: "SSLV3_ALERT_CERTIFICATE_EXPIRED", 46: "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
	47: "SSLV3_ALERT_ILLEGAL_PARAMETER", 48: "TLSV1_ALERT_UNKNOWN_CA", 49: "TLSV1_ALERT_ACCESS_DENIED",
	50: "TLSV1_ALERT_DECODE_ERROR", 51: "TLSV1_ALERT_DECRYPT_ERROR", 70: "TLSV1_ALERT_PROTOCOL_VERSION",
	71: "TLSV1_ALERT_INSUFFICIENT_SECURITY", 80: "TLSV1_ALERT_INTERNAL_ERROR", 86: "TLSV1_ALERT_INAPPROPRIATE_FALLBACK",
	90: "TLSV1_ALERT_USER_CANCELLED", 100: "TLSV1_ALERT_NO_RENEGOTIATION", 109: "TLSV13_ALERT_MISSING_EXTENSION",
	110: "TLSV1_UNSUPPORTED_EXTENSION", 112: "TLSV1_UNRECOGNIZED_NAME", 116: "TLSV13_ALERT_CERTIFICATE_REQUIRED",
	120: "TLSV1_ALERT_NO_APPLICATION_PROTOCOL",
}

// reasons are OpenSSL's for crypto/tls's own, by a part of the text.
var reasons = []struct{ part, reason string }{
	{"bad record MAC", "DECRYPTION_FAILED_OR_BAD_RECORD_MAC"},
	{"no cipher suite supported by both", "NO_SHARED_CIPHER"},
	{"client offered only unsupported versions", "UNSUPPORTED_PROTOCOL"},
	{"server selected unsupported protocol version", "UNSUPPORTED_PROTOCOL"},
	{"no supported versions satisfy", "NO_PROTOCOLS_AVAILABLE"},
	{"client didn't provide a certificate", "PEER_DID_NOT_RETURN_A_CERTIFICATE"},
	{"oversized record", "PACKET_LENGTH_TOO_LONG"},
	{"unexpected message", "UNEXPECTED_MESSAGE"},
	{"received record with version", "WRONG_VERSION_NUMBER"},
	{"too many ignored records", "TOO_MANY_KEY_UPDATES"},
	{"no renegotiation", "NO_RENEGOTIATION"},
	{"failed to parse certificate", "CERTIFICATE_PARSE_FAILED"},
}

// explain turns an error of crypto/tls into OpenSSL's.
func (c *Conn) explain(err error) error {
	var own *Error
	var remote *net.OpError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errTruncated
	case errors.As(err, &remote) && remote.Op == "remote error":
		// The type of an alert is unexported.
		if v := reflect.ValueOf(remote.Err); v.Kind() == reflect.Uint8 {
			if reason := alerts[v.Uint()]; reason != "" {
				return newError(reason)
			}
			return newError(fmt.Sprintf("TLSV1_ALERT_%d", v.Uint()))
		}
	case errors.As(err, &header):
		if c.config.Server && plainHTTP(header.RecordHeader[:]) {
			return newError("HTTP_REQUEST")
		}
		return newError("WRONG_VERSION_NUMBER")
	}
	text := err.Error()
	for _, r := range reasons {
		if strings.Contains(text, r.part) {
			return newError(r.reason)
		}
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "local error: "), "tls: ")
	reason := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(text[:min(len(text), 60)]))
	return &Error{Reason: strings.ToUpper(reason), Text: text}
}

// newError has OpenSSL's text, which is most often its reason in small letters.
func newError(reason string) *Error {
	text := strings.ToLower(strings.ReplaceAll(reason, "_", " "))
	if rest, ok := strings.CutPrefix(text, "sslv3 alert"); ok {
		text = "ssl/tls alert" + rest
	}
	return &Error{Reason: reason, Text: text}
}

func plainHTTP(header []byte) bool {
	for _, method := range []string{"GET ", "POST", "HEAD", "PUT ", "CONN", "DELE", "OPTI", "PATC"} {
		if strings.HasPrefix(string(header), method) {
			return true
		}
	}
	return false
}
