"""What CPython has from OpenSSL. Digests without a source are of hosts' hashlib."""
import hashlib, hmac, io, secrets, time

# RFC 6070, RFC 7914
assert hashlib.pbkdf2_hmac("sha1", b"password", b"salt", 4096).hex() == "4b007901b765489abead49d926f721d065a429c1"
assert hashlib.pbkdf2_hmac("sha1", b"pass\0word", b"sa\0lt", 4096, 16).hex() == "56fa6aa75548099dcc37d7f03425e0c3"
assert hashlib.pbkdf2_hmac("SHA-256", b"passwd", b"salt", 1, 64).hex().startswith("55ac046e56e3089fec1691c22544b605")
assert hashlib.pbkdf2_hmac("sha256", b"x" * 100000, b"", 20000, 1) == hashlib.pbkdf2_hmac("sha256", hashlib.sha256(b"x" * 100000).digest(), b"", 20000, 1)
assert hashlib.scrypt(b"", salt=b"", n=16, r=1, p=1).hex().startswith("77d6576238657b203b19ca42c18a0497")
assert hashlib.scrypt(b"password", salt=b"NaCl", n=1024, r=8, p=16).hex().startswith("fdbabe1c9d3472007856e7190d01e9fe")
assert len(hashlib.scrypt(b"p", salt=b"s", n=16384, r=8, p=1, dklen=32)) == 32  # within OpenSSL's default

for arguments in ({"n": 3}, {"n": 1}, {"n": 1 << 20}, {"r": 0}, {"p": 1 << 30}, {"maxmem": -1}, {"maxmem": 1}, {"dklen": 0}):
    try:
        print(hashlib.scrypt(b"", salt=b"", **{"n": 2, "r": 8, "p": 1, **arguments}), arguments)
    except ValueError:
        pass
for arguments in (("sha256", b"", b"", 0), ("sha256", b"", b"", 1, 0), ("sha257", b"", b"", 1), ("shake_128", b"", b"", 1)):
    try:
        print(hashlib.pbkdf2_hmac(*arguments), arguments)
    except ValueError:
        pass

names = {"sha512_256", "sha512_224", "ripemd160", "sm3", "md5-sha1"}
assert names < hashlib.algorithms_available and not names & hashlib.algorithms_guaranteed
assert hashlib.new("ripemd160", b"abc").hexdigest() == "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"
assert hashlib.new("SHA512-256", b"abc").hexdigest().startswith("53048e2681941ef99b2e29b76b4c7dab")
assert hashlib.new("md5-sha1", b"abc").digest() == hashlib.md5(b"abc").digest() + hashlib.sha1(b"abc").digest()
assert hashlib.new("blake2b512", b"abc").digest() == hashlib.blake2b(b"abc").digest()
for name in names:
    h, whole = hashlib.new(name, b"x"), b"x"
    assert h.name == name and len(h.digest()) == h.digest_size and h.hexdigest() == h.digest().hex()
    for part in (b"y" * 70, bytearray(1 << 20), memoryview(b"abc" * 500000)):
        before = h.copy()
        h.update(part)
        whole += bytes(part)
        assert before.digest() != h.digest() == hashlib.new(name, whole).digest(), name
    try:
        h.update("text")
        print("text is hashed by", name)
    except TypeError:
        pass
    assert hmac.new(b"k", b"m", name).digest() == hmac.digest(b"k", b"m", name)
assert hashlib.file_digest(io.BytesIO(b"abc" * 10**6), "sm3").digest() == hashlib.new("sm3", b"abc" * 10**6).digest()
assert hmac.new(b"k", b"m", hashlib.sha256).digest() == hmac.digest(b"k", b"m", "SHA256") == hmac.digest(b"k", b"m", hashlib.sha256)
assert hmac.compare_digest("a", "a") and not hmac.compare_digest(b"a", b"b")
assert len(secrets.token_hex(16)) == 32
print("ok")
