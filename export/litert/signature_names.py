"""The names of the signatures in a LiteRT file: one for each length."""

ONE_LENGTH = "serving_default"  # the name of the only signature


def signature_name(length: int) -> str:
    """The name of a signature in a file of several lengths."""
    return f"length_{length}"
