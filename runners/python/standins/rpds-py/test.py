import rpds
m = rpds.HashTrieMap(a=1)
m.insert('b', 2), m, rpds.Queue([1]).enqueue(2), list(rpds.Stack([1, 2]).push(3)), rpds.HashTrieSet([1]).discard(2)
