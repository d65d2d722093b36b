"""Tables of columns with types: parquet files, Arrow files, and folders of Hugging Face's `datasets`."""
