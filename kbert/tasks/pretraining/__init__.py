"""The pretraining objectives, and what their models answer: words for masks, and whether texts follow."""
