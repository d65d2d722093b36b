"""Tasks on stored outputs of a frozen encoder (arXiv 1810.04805, section 5.3)."""

from kbert.tasks.feature_based.feature_based_tagging import FeatureBasedTagging

__all__ = ["FeatureBasedTagging"]
