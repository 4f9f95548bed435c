import dbm
import dbm.dumb
import lzma
import os
import shelve

with dbm.dumb.open("d") as d:
    d["a"], d[b"b"], d["c"] = "1", b"2" * 600, "3"
    d["a"] = b"z" * 700  # to another place
    del d["c"]
    assert len(d) == 2 and sorted(d.keys()) == [b"a", b"b"] and d["a"] == b"z" * 700 and "c" not in d
assert open("d.dir").read() == "'a', (2048, 700)\n'b', (512, 600)\n"
assert dbm.whichdb("d") == "dbm.dumb" and dbm.whichdb("none") is None
with dbm.open("d", "r") as d:
    assert d[b"b"] == b"2" * 600
    try:
        d["x"] = "y"
    except dbm.error as e:
        assert "reading only" in str(e)
    else:
        assert False
try:
    d["a"]
except dbm.dumb.error as e:
    assert "closed" in str(e)
else:
    assert False
try:
    dbm.dumb.open("none", "r")
except FileNotFoundError:
    pass
else:
    assert False
with shelve.Shelf(dbm.dumb.open("s")) as s:
    s["k"] = [1]
with shelve.Shelf(dbm.dumb.open("s", "w")) as s:
    assert dict(s) == {"k": [1]}
with shelve.open("q") as s:
    s["k"] = [2]
assert dbm.whichdb("q") == "dbm.sqlite3" and os.path.exists("q")

# The best compression takes 674 MiB elsewhere.
for preset in (8, 9, 9 | lzma.PRESET_EXTREME):
    assert lzma.decompress(lzma.compress(b"data" * 999, preset=preset)) == b"data" * 999
with lzma.open("x.xz", "w", preset=9) as f:
    f.write(b"data")
try:
    lzma.compress(b"", preset=10)
except lzma.LZMAError as e:
    assert "Invalid or unsupported options" in str(e), e
else:
    assert False
print("ok")
