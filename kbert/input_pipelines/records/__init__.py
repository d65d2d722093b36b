"""Folders of TFRecords: opens, checks, divides between workers, and reads them."""
