// Package hashlib is the host's half of the guest's module _hashlib: the
// algorithms that CPython takes from OpenSSL, which this build does without.
//
// Each function is a bounded piece of work on values that it is given, and
// nothing is kept between calls: the guest holds the state of a hash and loops
// over the pieces, so that signals and limits reach it in between.
//
// # Sources
//
// RFC 8018 (PBKDF2), RFC 7914 (scrypt), GB/T 32905-2016 (SM3); names as in
// OpenSSL 3 and CPython's Modules/_hashopenssl.c.
//
// # Testing
//
// The RFCs' vectors, golang.org/x/crypto's pbkdf2 and scrypt on random
// parameters, and hashes of hosts.
package hashlib

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	//lint:ignore SA1019 OpenSSL has it
	"golang.org/x/crypto/ripemd160"
)

// algorithms are the hashes by the guest's names.
var algorithms = map[string]func() hash.Hash{
	"md5":        md5.New,
	"sha1":       sha1.New,
	"sha224":     sha256.New224,
	"sha256":     sha256.New,
	"sha384":     sha512.New384,
	"sha512":     sha512.New,
	"sha512_224": sha512.New512_224,
	"sha512_256": sha512.New512_256,
	"sha3_224":   func() hash.Hash { return sha3.New224() },
	"sha3_256":   func() hash.Hash { return sha3.New256() },
	"sha3_384":   func() hash.Hash { return sha3.New384() },
	"sha3_512":   func() hash.Hash { return sha3.New512() },
	"blake2b":    func() hash.Hash { return must(blake2b.New512(nil)) },
	"blake2s":    func() hash.Hash { return must(blake2s.New256(nil)) },
	"ripemd160":  ripemd160.New,
	"sm3":        newSM3,
}

// resumable are the hashes whose states are taken from the guest: those that it
// lacks and whose decoders stand any bytes. x/crypto's blake2 does not.
var resumable = map[string]bool{"sha512_224": true, "sha512_256": true, "sm3": true}

// must returns h. An error would be about the key, and there is none.
func must(h hash.Hash, err error) hash.Hash {
	if err != nil {
		panic(err)
	}
	return h
}

// algorithm returns a constructor by the guest's name.
func algorithm(name string) (func() hash.Hash, error) {
	if h, ok := algorithms[name]; ok {
		return h, nil
	}
	return nil, fmt.Errorf("unsupported hash type %s", name)
}

// Update adds data to a hash, which is at state or, when that is empty, new. It
// returns the state after it. Not every hash has one.
func Update(name string, state, data []byte) ([]byte, error) {
	h, err := resume(name, state, data)
	if err != nil {
		return nil, err
	}
	m, ok := h.(encoding.BinaryMarshaler)
	if !ok || !resumable[name] {
		return nil, fmt.Errorf("%s has no state to keep", name)
	}
	return m.MarshalBinary()
}

// Digest adds data like Update and returns the digest.
func Digest(name string, state, data []byte) ([]byte, error) {
	h, err := resume(name, state, data)
	if err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

func resume(name string, state, data []byte) (hash.Hash, error) {
	newHash, err := algorithm(name)
	if err != nil {
		return nil, err
	}
	h := newHash()
	if len(state) > 0 {
		m, ok := h.(encoding.BinaryUnmarshaler)
		if !ok || !resumable[name] || m.UnmarshalBinary(state) != nil {
			return nil, errors.New("not a state of " + name)
		}
	}
	h.Write(data)
	return h, nil
}
