"""zstandard by the library's compression.zstd, in place of C: one frame at a time,
without dictionaries and without parameters beyond the level."""

import io as _io
from compression import zstd as _zstd

ZstdError, ZSTD_VERSION, MAX_COMPRESSION_LEVEL, FRAME_HEADER = _zstd.ZstdError, _zstd.zstd_version_info, 22, b"\x28\xb5\x2f\xfd"
COMPRESSOBJ_FLUSH_FINISH, COMPRESSOBJ_FLUSH_BLOCK, FLUSH_BLOCK, FLUSH_FRAME = 0, 1, 0, 1
_CHUNK = 1 << 17


class _Options:
    def __init__(self, level=3, dict_data=None, compression_params=None, write_checksum=None, threads=0, **others):
        if dict_data or compression_params:
            raise NotImplementedError("dictionaries and parameters are not here: use the library's compression.zstd")
        parameter = _zstd.CompressionParameter
        self._options = {parameter.compression_level: level, parameter.checksum_flag: bool(write_checksum)}

    def copy_stream(self, ifh, ofh, size=-1, read_size=_CHUNK, write_size=_CHUNK):
        obj, read, written = self._object(), 0, 0
        while data := ifh.read(read_size):
            read, written = read + len(data), written + ofh.write(obj.add(data))
        return read, written + ofh.write(obj.flush())


class ZstdCompressor(_Options):
    def compress(self, data):
        return _zstd.compress(data, options=self._options)

    def _object(self):
        return _CompressionObject(self._options)

    def compressobj(self, size=-1):
        return self._object()

    def stream_writer(self, writer, size=-1, write_size=_CHUNK, write_return_read=True, closefd=True):
        return _Writer(writer, self._object(), closefd)


class _CompressionObject:
    def __init__(self, options):
        self._inner = _zstd.ZstdCompressor(options=options)
        self.compress = self.add = self._inner.compress

    def flush(self, flush_mode=COMPRESSOBJ_FLUSH_FINISH):
        return self._inner.flush(self._inner.FLUSH_BLOCK if flush_mode == COMPRESSOBJ_FLUSH_BLOCK else self._inner.FLUSH_FRAME)


class _Writer(_io.RawIOBase):
    def __init__(self, writer, obj, closefd):
        self._writer, self._obj, self._closefd = writer, obj, closefd

    def writable(self):
        return True

    def write(self, data):
        self._writer.write(self._obj.compress(data))
        return memoryview(data).nbytes

    def flush(self, flush_mode=FLUSH_BLOCK):
        if self._obj:
            self._writer.write(self._obj.flush(COMPRESSOBJ_FLUSH_FINISH if flush_mode == FLUSH_FRAME else COMPRESSOBJ_FLUSH_BLOCK))

    def close(self):
        self.flush(FLUSH_FRAME)
        self._obj = None
        super().close()
        if self._closefd and hasattr(self._writer, "close"):
            self._writer.close()


class ZstdDecompressor(_Options):
    def decompress(self, data, max_output_size=0, read_across_frames=False, allow_extra_data=True):
        obj = self._object()
        out = obj.decompress(data, max_output_size or -1)
        if not obj.eof:
            raise ZstdError("decompression error: did not decompress full frame")
        return out

    def _object(self):
        return _DecompressionObject()

    def decompressobj(self, write_size=_CHUNK, read_across_frames=False):
        return self._object()

    def stream_reader(self, source, read_size=_CHUNK, read_across_frames=False, closefd=True):
        return _Reader(source, closefd)


class _DecompressionObject:
    unconsumed_tail = b""

    def __init__(self):
        self._inner = _zstd.ZstdDecompressor()
        self.decompress = self.add = self._inner.decompress

    eof = property(lambda self: self._inner.eof)
    unused_data = property(lambda self: self._inner.unused_data)

    def flush(self, length=0):
        return b""


class _Reader(_zstd.ZstdFile):
    def __init__(self, source, closefd):
        self._source = source if closefd and hasattr(source, "close") else None
        super().__init__(source if hasattr(source, "read") else _io.BytesIO(source))

    def close(self):
        super().close()
        if self._source:
            self._source.close()
