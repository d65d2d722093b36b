"""What a training leaves behind: below the engine, which writes it, and all that read it."""
