"""Persistent collections that copy what they change, in place of Rust's."""

from collections.abc import Iterable, Mapping, Set

__all__ = ["HashTrieMap", "HashTrieSet", "List", "Stack", "Queue"]


class HashTrieMap(Mapping):
    __slots__ = ("_items",)

    def __init__(self, value={}, **kwds):
        self._items = dict(value, **kwds)

    @classmethod
    def _of(cls, items):
        new = cls.__new__(cls)
        new._items = items
        return new

    @classmethod
    def convert(cls, value):
        return value if isinstance(value, cls) else cls(value)

    @classmethod
    def fromkeys(cls, keys, value=None):
        return cls._of(dict.fromkeys(keys, value))

    def __getitem__(self, key):
        return self._items[key]

    def __contains__(self, key):
        return key in self._items

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __eq__(self, other):
        return self._items == other._items if isinstance(other, HashTrieMap) else NotImplemented

    def __hash__(self):
        return hash(frozenset(self._items.items()))

    def __repr__(self):
        return f"HashTrieMap({self._items!r})"

    def __reduce__(self):
        return type(self), (self._items,)

    def insert(self, key, val):
        return self._of(self._items | {key: val})

    def remove(self, key):
        items = self._items.copy()
        del items[key]
        return self._of(items)

    def discard(self, key):
        return self.remove(key) if key in self._items else self

    def update(self, *args, **kwds):
        items = self._items.copy()
        for more in (*args, kwds):
            items.update(more)
        return self._of(items)


class HashTrieSet(Set):
    __slots__ = ("_values",)

    def __init__(self, value=()):
        self._values = frozenset(value)

    def __contains__(self, value):
        return value in self._values

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __hash__(self):
        return hash(self._values)

    def __repr__(self):
        return f"HashTrieSet({{{', '.join(map(repr, self._values))}}})"

    def __reduce__(self):
        return type(self), (list(self._values),)

    def insert(self, value):
        return type(self)(self._values | {value})

    def remove(self, value):
        if value not in self._values:
            raise KeyError(value)
        return type(self)(self._values - {value})

    def discard(self, value):
        return type(self)(self._values - {value})

    def update(self, *args):
        return type(self)(self._values.union(*args))


class _Sequence(Iterable):
    __slots__ = ("_values",)

    def __init__(self, value=(), *more):
        self._values = (value, *more) if more else tuple(value)

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __eq__(self, other):
        return self._values == other._values if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self._values)

    def __repr__(self):
        return f"{type(self).__name__}([{', '.join(map(repr, self._values))}])"

    def __reduce__(self):
        return type(self), (list(self._values),)

    def _have(self, otherwise):
        if not self._values:
            raise IndexError(otherwise)
        return self._values


class List(_Sequence):
    __slots__ = ()

    @property
    def first(self):
        return self._have("empty list has no first element")[0]

    @property
    def rest(self):
        return List(self._values[1:])

    def __reversed__(self):
        return reversed(self._values)

    def push_front(self, value):
        return List((value, *self._values))

    def drop_first(self):
        return List(self._have("empty list has no first element")[1:])


class Queue(_Sequence):
    __slots__ = ()

    def peek(self):
        return self._have("peeked an empty queue")[0]

    def is_empty(self):
        return not self._values

    def enqueue(self, value):
        return Queue((*self._values, value))

    def dequeue(self):
        return Queue(self._have("dequeued an empty queue")[1:])


class Stack(_Sequence):
    __slots__ = ()

    def __iter__(self):
        return reversed(self._values)

    def peek(self):
        return self._have("peeked an empty stack")[-1]

    def push(self, value):
        return Stack((*self._values, value))

    def pop(self):
        return Stack(self._have("popped an empty stack")[:-1])
