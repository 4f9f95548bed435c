import contextvars, greenlet
from greenlet import getcurrent
v = contextvars.ContextVar("v")
ended = []
def count(n):
    for i in range(n): getcurrent().parent.switch(i)
    return "end"
def fail(): raise ValueError("x")
def wait():
    v.set("shared")
    try: getcurrent().parent.switch()
    except greenlet.GreenletExit: ended.append("killed")
g = greenlet.greenlet(count)
got = [g.switch(2), g.switch(), g.switch()]
try: greenlet.greenlet(fail).switch()
except ValueError: ended.append("caught")
w = greenlet.greenlet(wait)
w.gr_context = getcurrent().gr_context
w.switch()
w.throw()
got, ended, g.dead and w.dead, v.get(None)
