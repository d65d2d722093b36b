"""What the two APIs and the warm-up ask a loaded version: requests to responses, as protocol buffers."""
