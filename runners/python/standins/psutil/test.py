import psutil, subprocess, sys
subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1)
p, c = psutil.Process(), psutil.Process().children()[0]
before = p.cpu_times().user
while p.cpu_times().user == before: pass
c.terminate()
psutil.virtual_memory().total >> 20, p.status(), c.name(), c.wait(60), psutil.pids(), psutil.disk_usage('/').total >> 20, psutil.users(), list(psutil.net_if_addrs()), psutil.cpu_percent() <= 100, len(p.as_dict()) > 20
