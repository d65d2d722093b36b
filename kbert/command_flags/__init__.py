"""What `--help` of a script shows, what it says about a flag that is wrong, and what it prints last."""
