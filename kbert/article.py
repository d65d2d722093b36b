"""`with_article`: "an encoder", "a pretraining", for names that are known only when the sentence is made."""


def with_article(noun: str) -> str:
    """The noun with "a" or "an" before it, by its first letter. Quotes around a name do not count."""
    return f"{'an' if noun.lstrip(chr(39))[:1].lower() in set('aeio') else 'a'} {noun}"
