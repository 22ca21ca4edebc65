"""The compiled heart: pure functions on arrays. No I/O, no strings, no exceptions."""
