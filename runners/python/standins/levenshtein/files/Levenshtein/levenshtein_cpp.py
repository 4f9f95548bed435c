"""Stands for Levenshtein's extension module: what it does not take from rapidfuzz.

setmedian, seqratio and setratio are exact; a median is approximate here as there,
and may be another one.
"""

from rapidfuzz.distance.Indel import normalized_similarity as _ratio
from rapidfuzz.distance.Levenshtein import distance as _distance


def _pairs(strlist, wlist):
    strings = list(strlist)
    weights = [1.0] * len(strings) if wlist is None else [float(w) for w in wlist]
    if len(weights) != len(strings):
        raise ValueError("strlist has a different length than wlist")
    return list(zip(strings, weights))


def _cost(string, pairs):
    return sum(weight * _distance(string, other) for other, weight in pairs)


def setmedian(strlist, wlist=None, /):
    pairs = _pairs(strlist, wlist)
    return min((s for s, _ in pairs), key=lambda s: _cost(s, pairs), default="")


def median_improve(string, strlist, wlist=None, /):
    """Makes the best single edit at each position."""
    pairs = _pairs(strlist, wlist)
    letters = sorted(set("".join(s for s, _ in pairs)))
    best, least, i = string, _cost(string, pairs), 0
    while i <= len(best):
        edits = [best[:i] + c + best[i:] for c in letters]
        if i < len(best):
            edits += [best[:i] + c + best[i + 1 :] for c in ["", *letters]]
        for edit in edits:
            cost = _cost(edit, pairs)
            if cost < least:
                best, least = edit, cost
        i += 1
    return best


def median(strlist, wlist=None, /):
    strings = list(strlist)
    return median_improve(setmedian(strings, wlist), strings, wlist)


quickmedian = median


def seqratio(strlist1, strlist2, /):
    """The similarity of two sequences: replacing a string costs as much as it differs."""
    a, b = list(strlist1), list(strlist2)
    row = [float(j) for j in range(len(b) + 1)]
    for i, s in enumerate(a, 1):
        before, row[0] = row[0], float(i)
        for j, t in enumerate(b, 1):
            change = before + 2 * (1 - _ratio(s, t))
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, change)
    whole = len(a) + len(b)
    return (whole - row[-1]) / whole if whole else 1.0


def setratio(strlist1, strlist2, /):
    """The similarity of two sets: that of their strings in the best pairs."""
    a, b = sorted((list(strlist1), list(strlist2)), key=len)
    whole = len(a) + len(b)
    if not a:
        return 0.0 if whole else 1.0
    return 2 * _assign([[_ratio(s, t) for t in b] for s in a]) / whole


def _assign(gains):
    """The greatest sum of one gain a row, no two of one column: the Hungarian method."""
    columns = len(gains[0])
    u, v = [0.0] * (len(gains) + 1), [0.0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for i in range(1, len(gains) + 1):
        row_of[0], j = i, 0
        least, way, seen = [float("inf")] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        while row_of[j]:
            seen[j], r = True, row_of[j]
            for k in range(1, columns + 1):
                if not seen[k]:
                    cost = -gains[r - 1][k - 1] - u[r] - v[k]
                    if cost < least[k]:
                        least[k], way[k] = cost, j
            nearest = min((k for k in range(1, columns + 1) if not seen[k]), key=least.__getitem__)
            delta = least[nearest]
            for k in range(columns + 1):
                if seen[k]:
                    u[row_of[k]] += delta
                    v[k] -= delta
                else:
                    least[k] -= delta
            j = nearest
        while j:
            row_of[j], j = row_of[way[j]], way[j]
    return sum(gains[row_of[k] - 1][k - 1] for k in range(1, columns + 1) if row_of[k])
