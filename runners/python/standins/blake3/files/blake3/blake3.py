"""Stands for blake3's extension module: BLAKE3 in Python, some 100 kB a second."""

import importlib.metadata
import struct

__version__ = importlib.metadata.version("blake3")
__all__ = ["__version__", "blake3"]

_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_START, _END, _PARENT, _ROOT, _KEYED, _CONTEXT, _MATERIAL = (1 << n for n in range(7))
_CHUNK, _BLOCK, _MASK = 1024, 64, 0xFFFFFFFF
_MIXES = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def _compress(cv, block, counter, length, flags):
    """The sixteen words of a block's output."""
    m = struct.unpack("<16I", block)
    v = [*cv, *_IV[:4], counter & _MASK, counter >> 32 & _MASK, length, flags]
    for turn in range(7):
        for n, (a, b, c, d) in enumerate(_MIXES):
            for x, down, right in ((m[2 * n], 16, 12), (m[2 * n + 1], 8, 7)):
                v[a] = v[a] + v[b] + x & _MASK
                w = v[d] ^ v[a]
                v[d] = (w >> down | w << 32 - down) & _MASK
                v[c] = v[c] + v[d] & _MASK
                w = v[b] ^ v[c]
                v[b] = (w >> right | w << 32 - right) & _MASK
        if turn < 6:
            m = [m[i] for i in _ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ cv[i] for i in range(8)]


def _chunk(key, data, counter, flags):
    """What the last block of a chunk is compressed of."""
    cv, flags = key, flags | _START
    for at in range(0, max(1, len(data)), _BLOCK):
        block = data[at : at + _BLOCK]
        last = at + _BLOCK >= len(data)
        node = cv, block.ljust(_BLOCK, b"\0"), counter, len(block), flags | (_END if last else 0)
        if last:
            return node
        cv, flags = _compress(*node)[:8], flags & ~_START


def _parent(key, left, right, flags):
    return key, struct.pack("<16I", *left, *right), 0, _BLOCK, flags | _PARENT


class blake3:
    name, digest_size, block_size, key_size, AUTO = "blake3", 32, 64, 32, -1

    def __init__(self, data=b"", /, *, key=None, derive_key_context=None, max_threads=1, usedforsecurity=True):
        self._key, self._flags = _IV, 0
        if key is not None:
            if derive_key_context is not None:
                raise ValueError("cannot use key and derive_key_context at the same time")
            if len(bytes(key)) != 32:
                raise ValueError("expected a 32-byte key")
            self._key, self._flags = struct.unpack("<8I", key), _KEYED
        elif derive_key_context is not None:
            context = blake3()
            context._flags = _CONTEXT
            self._key, self._flags = struct.unpack("<8I", context.update(derive_key_context.encode()).digest()), _MATERIAL
        self.reset()
        self.update(data)

    def reset(self):
        self._stack, self._chunks, self._rest = [], 0, bytearray()

    def update(self, data, /):
        self._rest += memoryview(data).cast("B")
        at = 0
        while len(self._rest) - at > _CHUNK:  # the last one may be the root
            cv = _compress(*_chunk(self._key, bytes(self._rest[at : at + _CHUNK]), self._chunks, self._flags))[:8]
            at, self._chunks = at + _CHUNK, self._chunks + 1
            n = self._chunks
            while not n & 1:
                cv, n = _compress(*_parent(self._key, self._stack.pop(), cv, self._flags))[:8], n >> 1
            self._stack.append(cv)
        del self._rest[:at]
        return self

    def update_mmap(self, path):
        with open(path, "rb") as f:
            while data := f.read(1 << 16):
                self.update(data)
        return self

    def copy(self):
        other = blake3.__new__(blake3)
        other.__dict__.update(self.__dict__, _stack=[*self._stack], _rest=self._rest[:])
        return other

    def digest(self, length=32, *, seek=0):
        node = _chunk(self._key, bytes(self._rest), self._chunks, self._flags)
        for left in reversed(self._stack):
            node = _parent(self._key, left, _compress(*node)[:8], self._flags)
        cv, block, _, size, flags = node
        first, last = seek // _BLOCK, -(-(seek + length) // _BLOCK)
        out = b"".join(struct.pack("<16I", *_compress(cv, block, n, size, flags | _ROOT)) for n in range(first, last))
        return out[seek % _BLOCK :][:length]

    def hexdigest(self, length=32, *, seek=0):
        return self.digest(length, seek=seek).hex()
