"""What the page of an evaluation shows, as plain data; kbert/reports/ draws it."""
