"""What the C library of this build lacks for files."""
import errno, os, shutil, stat, tarfile

open("a", "w").write("text")
os.link("a", "b")
assert os.stat("b").st_nlink == 2 and os.path.samefile("a", "b")
os.remove("a")
assert open("b").read() == "text" and os.stat("b").st_nlink == 1
os.symlink("b", "s")
os.link("s", "t")
os.link("s", "u", follow_symlinks=True)
assert os.path.islink("t") and not os.path.islink("u") and os.stat("b").st_nlink == 2
os.mkdir("d")
fd = os.open("d", os.O_DIRECTORY)
os.link("b", "c\udcff", dst_dir_fd=fd)
assert os.listdir("d") == ["c\udcff"]
for want, arguments in (
    (errno.EEXIST, ("b", "u")), (errno.ENOENT, ("nothing", "x")), (errno.EPERM, ("d", "x")), (errno.ENOENT, ("b", "no/x")),
    (errno.EXDEV, ("/lib/python314.zip", "x")), (errno.ENAMETOOLONG, ("b", "x" * 5000)),
):
    try:
        print(os.link(*arguments), arguments)
    except OSError as e:
        assert e.errno == want and (e.filename, e.filename2) == arguments, e
try:
    os.link("b\0", "x")
except ValueError:
    pass

with tarfile.open("t.tar", "w") as t:
    t.add("b")
    t.add("u")
assert tarfile.open("t.tar").getmember("u").islnk()
os.mkdir("out")
tarfile.open("t.tar").extractall("out", filter="data")
assert os.path.samefile("out/b", "out/u")

os.mkfifo("fifo", 0o600)
assert stat.S_ISFIFO(os.stat("fifo").st_mode) and stat.S_IMODE(os.stat("fifo").st_mode) == 0o600
r, w = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK), os.open("fifo", os.O_WRONLY)
os.write(w, b"through")
assert os.read(r, 9) == b"through"

m = os.memfd_create("name")
assert os.pwritev(m, [b"01", bytearray(b"23456789")], 0) == 10
parts = [bytearray(3), bytearray(20)]
assert os.preadv(m, parts, 2) == 8 and parts[0] == b"234" and parts[1][:5] == b"56789"
out = os.open("copy", os.O_RDWR | os.O_CREAT)
assert os.sendfile(out, m, 4, 100) == 6 and os.copy_file_range(m, out, 2, 0, 6) == 2
assert os.pread(out, 20, 0) == b"45678901"
os.posix_fallocate(out, 0, 1000)
assert os.fstat(out).st_size == 1000
r, w = os.pipe2(os.O_NONBLOCK)
assert not os.get_blocking(r) and os.get_inheritable(w)
os.lchown("s", 1, 2)
assert os.lstat("s").st_uid == 1 and os.stat("s").st_uid == 0
assert os.listxattr("b") == []
for f in (lambda: os.setxattr("b", "user.x", b""), lambda: os.getxattr("b", "user.x"), lambda: os.listxattr("nothing")):
    try:
        print(f())
    except OSError as e:
        assert e.errno in (errno.ENOTSUP, errno.ENODATA, errno.ENOENT)
shutil.copy2("b", "copied")
print("ok")
