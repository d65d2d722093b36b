"""What the readers and writers of all other formats share: names, keys, shapes and checks."""
