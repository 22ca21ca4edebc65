"""Live studies: ask what to measure next, tell the result, stop with a certificate."""
