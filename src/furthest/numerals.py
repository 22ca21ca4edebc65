"""Numbers as people write them: digits from 0 to 9, a point, an exponent; inf and nan."""


def number(text: str) -> float:
    """The number; ValueError for what Python takes for one beside that, such as `1_0` and `١٢`."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)
