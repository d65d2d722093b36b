"""Many pieces of work: on all cores, on a cluster, and how far they are."""
