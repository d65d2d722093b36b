"""Raw text to vocabulary and TFRecords."""
