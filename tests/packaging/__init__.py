"""What pip installs: its dependencies, its command, and a tiny life in another folder."""
