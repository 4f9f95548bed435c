"""The package's own functions in Python, in place of Rust's."""

from ._jellyfish import *
