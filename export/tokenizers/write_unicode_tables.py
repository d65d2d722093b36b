r"""Script: asks the tokenizer in the graph about every character, and writes its tables in each language.

  python -m export.tokenizers.write_unicode_tables

For developers, after TensorFlow or TF-Text changed: the tables are those of the versions installed.
"""

from kbert.cli import script


def main():
    from kbert.files.whole_file import write_text

    from .tables.graph_facts import graph_facts
    from .tables.source_files import FOLDER, source_files

    for path, content in source_files(graph_facts()).items():
        write_text(content, path)
        print(f"{path.relative_to(FOLDER)}: {len(content):,} bytes")


if __name__ == "__main__":
    script.run(main)
