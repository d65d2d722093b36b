"""GLUE (arXiv 1804.07461) as a whole: its files, trainings over seeds and learning rates, its submission."""
