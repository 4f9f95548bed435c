from time import perf_counter

import msgpack
from msgpack._cmsgpack import Packer  # the C extension, not the fallback

document = {
    "id": 0,
    "name": "na\u00efve",
    "tags": ["a", "b", "c"],
    "nested": [{"x": i, "y": i / 2, "z": str(i), "more": [i, None, True]} for i in range(50)],
    "blob": bytes(range(256)),
}
total = 0
began = perf_counter()
for i in range(3000):
    document["id"] = i
    packed = msgpack.packb(document)
    total += len(packed) + msgpack.unpackb(packed)["id"]
elapsed = perf_counter() - began
assert msgpack.unpackb(packed) == document and msgpack.Packer is Packer
print("RESULT msgpack", total)
print(f"ELAPSED_MS {elapsed * 1000:.3f}")
