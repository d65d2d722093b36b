"""Folders of TFRecords: opened, checked, shared out, read."""
