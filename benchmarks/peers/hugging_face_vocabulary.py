"""The peer of benchmarks/vocabulary.py: Hugging Face's BertWordPieceTokenizer learns a vocabulary.

Imports nothing of kbert. The trainer has its default settings (pairs that occur twice, 1,000 characters).
"""

import argparse

from tokenizers import BertWordPieceTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--input_files", nargs="+")
parser.add_argument("--output_file")
parser.add_argument("--vocab_size", type=int)
arguments = parser.parse_args()

tokenizer = BertWordPieceTokenizer(lowercase=True)
tokenizer.train(arguments.input_files, vocab_size=arguments.vocab_size, show_progress=False)
ids = tokenizer.get_vocab()
with open(arguments.output_file, "w", encoding="utf-8", newline="\n") as file:
    file.writelines(f"{token}\n" for token in sorted(ids, key=ids.get))
