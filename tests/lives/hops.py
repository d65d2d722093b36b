"""All hops by name: each compares what two ways must give alike, and returns how much it compared."""

from tests.lives import answer_hops, training_hops

HOPS = {
    name: hop
    for hops in (training_hops, answer_hops)
    for name, hop in vars(hops).items()
    if not name.startswith("_") and getattr(hop, "__module__", None) == hops.__name__ and callable(hop)
}
