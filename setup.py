"""What pyproject.toml cannot say: two folders have another name in the package than in the checkout.

A top-level `export` in site-packages would stand in the way of other people's, and the configs belong to
kbert. kbert/cli/commands.py and kbert/shipped_configs.py know both places.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["kbert", "kbert.*", "tfrecords_tools", "tfrecords_tools.*"]),
        "kbert_export",
        *(f"kbert_export.{folder}" for folder in find_packages("export")),
        "kbert.configs",
    ],
    package_dir={"kbert_export": "export", "kbert.configs": "configs"},
    package_data={
        "kbert": ["py.typed", "*.pyi"],
        "kbert.reports": ["templates/*"],
        "kbert.tokenization": ["core_ops/*.json"],
        "kbert_export": ["**/*.txt", "**/*.html", "**/*.css", "**/*.js", "**/*.svg", "**/*.kt", "**/*.json"],
        "kbert.configs": ["**/*.json", "**/*.toml", "quickstart/**/*"],
    },
    include_package_data=False,
)
