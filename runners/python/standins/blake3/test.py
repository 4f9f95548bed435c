from blake3 import blake3
d = bytes(i % 251 for i in range(5000))
blake3(b'').hexdigest()[:16], blake3(d).hexdigest()[:16], blake3(d, key=d[:32]).update(d).hexdigest(4, seek=61), blake3(d, derive_key_context='x').hexdigest()[:16]
