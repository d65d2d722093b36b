"""What a server needs beside the model: requests to warm up with, settings, a card, files for containers."""
