package hashlib

import (
	"context"
	"fmt"

	//lint:ignore SA1019 bcrypt is defined by it
	"golang.org/x/crypto/blowfish"
)

// Bcrypt returns the 23 bytes of bcrypt's hash of a password, of which 72 bytes
// count, with a salt of 16 bytes and 2^cost rounds.
//
// https://www.usenix.org/legacy/events/usenix99/provos/provos_html/node5.html
func Bcrypt(ctx context.Context, password, salt []byte, cost int) ([]byte, error) {
	const often = 1 << 6 // how many rounds there are between looks at ctx
	if len(salt) != 16 || cost < 4 || cost > 31 {
		return nil, fmt.Errorf("a salt of %d bytes, a cost of %d", len(salt), cost)
	}
	key := append(append([]byte{}, password...), 0)
	c, err := blowfish.NewSaltedCipher(key, salt)
	if err != nil {
		return nil, err
	}
	for i := range int64(1) << cost {
		if i%often == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		blowfish.ExpandKey(key, c)
		blowfish.ExpandKey(salt, c)
	}
	text := []byte("OrpheanBeholderScryDoubt")
	for i := 0; i < len(text); i += blowfish.BlockSize {
		for range 64 {
			c.Encrypt(text[i:], text[i:])
		}
	}
	return text[:23], nil
}
