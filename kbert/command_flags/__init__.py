"""What `--help` of a script shows, and what it says about a flag that is wrong."""
