"""Features -> TFRecords, and TFRecords -> what a person reads."""
