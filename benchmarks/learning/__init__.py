"""What loss_curve and time_to_quality share: a text as batches; and losses by time, with their report."""
