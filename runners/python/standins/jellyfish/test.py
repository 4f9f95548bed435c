import jellyfish
jellyfish.levenshtein_distance('kitten', 'sitting'), jellyfish.soundex('Robert'), round(jellyfish.jaro_winkler_similarity('martha', 'marhta'), 4)
