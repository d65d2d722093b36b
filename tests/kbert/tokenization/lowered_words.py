"""The words of each argument, in lower case with accents, as JSON: what a process of its own is asked for."""

import json
import sys

import tensorflow as tf

from kbert.tokenization.word_splitter import split_words

if __name__ == "__main__":
    lines = split_words(tf.constant(sys.argv[1:]), do_lower_case=True, strip_accents=False).to_list()
    print(json.dumps([[word.decode("utf-8") for word in words] for words in lines]))
