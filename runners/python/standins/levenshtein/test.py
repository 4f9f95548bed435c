import Levenshtein as L
a, b = ['newspaper', 'litter bin', 'tinny', 'antelope'], ['caribou', 'sausage', 'gorn', 'woody']
L.distance('kitten', 'sitting'), L.ratio('hello', 'hallo'), round(L.seqratio(a, b), 6), round(L.setratio(a, b), 6), L.setmedian(['abc', 'abd', 'ab']), L.median(['xbc', 'abx', 'axc'])
