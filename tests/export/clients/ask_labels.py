"""The other side of test_clients.py, of a classifier, by the clients' Python: ask_labels.py URL TEXT ..."""

import json
import sys

from huggingface_hub import InferenceClient

url, *texts = sys.argv[1:]
client = InferenceClient(url)
print(
    json.dumps(
        {
            "all": [client.text_classification(text) for text in texts],
            "first": [client.text_classification(text, top_k=1) for text in texts],
            "raw": [client.text_classification(text, function_to_apply="none") for text in texts],
        }
    )
)
