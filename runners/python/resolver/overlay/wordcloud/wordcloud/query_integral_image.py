"""wordcloud's search for room on NumPy, in place of Cython's loops."""

import numpy as np


def query_integral_image(integral_image, size_x, size_y, random_state):
    """Returns a random place, from 0, where so many rows and columns are empty, or None."""
    rows, columns = np.array(integral_image.shape) - (size_x, size_y)
    if rows <= 0 or columns <= 0:
        return None
    a = integral_image
    # Sums wrap around at 2**32, as their differences do.
    filled = a[:rows, :columns] + a[size_x:, size_y:] - a[size_x:, :columns] - a[:rows, size_y:]
    places = np.flatnonzero(filled == 0)
    if not len(places):
        return None
    # As there, 0 is drawn, too, and is no place.
    n = random_state.randint(0, len(places))
    return divmod(int(places[n - 1]), int(columns)) if n else None
