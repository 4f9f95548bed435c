"""Questions about the machine, and modules that have little to do here."""
import getpass, grp, io, locale, os, platform, pwd, readline, resource, shelve, socket, sys, syslog, time, webbrowser

assert os.cpu_count() == os.process_cpu_count() == len(os.sched_getaffinity(0)) == os.sysconf("SC_NPROCESSORS_ONLN") >= 1 and os.getloadavg() == (0, 0, 0)
assert platform.node() == socket.gethostname() == socket.getfqdn() == os.uname().nodename == "localhost"
assert platform.platform() == "Linux-6.1.0-wasm32-with-musl1.2.5" and os.uname()[::4] == ("Linux", "wasm32")
assert getpass.getuser() == os.getlogin() == pwd.getpwuid(os.getuid()).pw_name == grp.getgrgid(os.getegid()).gr_name
assert pwd.getpwnam("root").pw_dir == os.path.expanduser("~root") == os.path.expanduser("~")
for unknown in (lambda: pwd.getpwnam("nobody"), lambda: pwd.getpwuid(1000), lambda: grp.getgrnam("staff")):
    try:
        print(unknown())
    except KeyError:
        pass

x = bytearray(100 << 20)
usage = resource.getrusage(resource.RUSAGE_SELF)
assert usage.ru_maxrss > 100 << 10 and usage.ru_utime > 0
sum(range(10**6))
assert resource.getrusage(resource.RUSAGE_SELF).ru_utime > usage.ru_utime
assert resource.getrlimit(resource.RLIMIT_AS) == (512 << 20, 512 << 20)
resource.setrlimit(resource.RLIMIT_NOFILE, (10, 100))
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (10, 100)
for raised in (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 101)), lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)), lambda: resource.getrlimit(99)):
    try:
        print(raised())
    except ValueError:
        pass

with shelve.open("shelf") as s:
    s["key"] = [1, {"two": 3}]
    s["gone"] = 1
    del s["gone"]
with shelve.open("shelf", "r") as s:
    assert dict(s) == {"key": [1, {"two": 3}]} and "gone" not in s and len(s) == 1

readline.add_history("one")
assert readline.get_history_item(1) == "one" and readline.get_current_history_length() == 1
syslog.syslog(syslog.LOG_INFO, "nobody reads it")
assert webbrowser.open("https://example.com") is False
assert os.system("ls") >> 8 == 127

os.environ["TZ"] = "Europe/Berlin"
time.tzset()
assert time.tzname == ("CET", "CEST") and time.localtime(0).tm_hour == 1 and time.timezone == -3600
os.environ["TZ"] = "../../etc/passwd"
time.tzset()
assert time.tzname == ("UTC", "UTC")
locale.setlocale(locale.LC_ALL, "")
for refused in (os.fork, lambda: os.execv("/bin/ls", ["ls"]), lambda: os.popen("ls")):
    try:
        print(refused())
    except OSError as e:
        assert "cannot be copied here" in str(e) or "no processes here" in str(e), e

# A password from no terminal.
sys_stdin, sys.stdin = sys.stdin, io.StringIO("secret\n")
assert getpass.getpass(stream=(asked := io.StringIO())) == "secret" and asked.getvalue() == "Password: \n"
try:
    print(getpass.getpass("Again: ", io.StringIO()))
except EOFError as e:
    assert e.__context__ is None and str(e) == "EOF when reading a line"
sys.stdin = sys_stdin
print("ok")
