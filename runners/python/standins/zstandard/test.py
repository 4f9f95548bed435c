import io, zstandard as z
d = b'abc' * 999
c = z.ZstdCompressor(level=5, threads=-1)
b, w = io.BytesIO(), io.BytesIO()
with c.stream_writer(b, closefd=False) as f:
  f.write(d[:9]); f.flush(); f.write(d[9:])
o = z.ZstdDecompressor().decompressobj()
with z.open('f.zst', 'wt') as f: f.write('text')
c.copy_stream(io.BytesIO(d), w)
z.decompress(c.compress(d)) == o.decompress(b.getvalue()) == z.ZstdDecompressor().stream_reader(w.getvalue()).read() == d, o.eof, z.open('f.zst', 'rt').read()
