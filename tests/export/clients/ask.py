"""The other side of test_clients.py, run by the clients' own Python: python ask.py URL MODEL TEXT ..."""

import json
import sys

import cohere
import openai
from huggingface_hub import InferenceClient

url, model, *texts = sys.argv[1:]
client = openai.OpenAI(base_url=f"{url}/v1", api_key="secret", max_retries=0)
wrong = openai.OpenAI(base_url=f"{url}/v1", api_key="other", max_retries=0)


def refusal(call):
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.message]


created = client.embeddings.create(model=model, input=texts)  # in base64: the client's own choice
floats = client.embeddings.create(model=model, input=texts, encoding_format="float")
hugging_face = InferenceClient(f"{url}/embed", token="secret")
hugging_face_alone = InferenceClient(url, token="secret")  # one path for all it asks
ranking = cohere.ClientV2("secret", base_url=url)
print(
    json.dumps(
        {
            "base64": [one.embedding for one in created.data],
            "float": [one.embedding for one in floats.data],
            "tokens": created.usage.total_tokens,
            "hugging_face": [hugging_face.feature_extraction(text).tolist() for text in texts],
            "hugging_face_alone": [hugging_face_alone.feature_extraction(text).tolist() for text in texts],
            "similar": hugging_face_alone.sentence_similarity(texts[0], texts),
            "ranked": [
                (result.index, result.relevance_score)
                for result in ranking.rerank(model=model, query=texts[0], documents=texts).results
            ],
            "models": [one.id for one in client.models.list()],
            "model": client.models.retrieve(model).id,
            "prompted": client.embeddings.create(
                model=model, input=texts[:1], extra_body={"prompt_name": "query"}
            ).data[0].embedding,
            "refusals": [
                refusal(lambda: wrong.embeddings.create(model=model, input=texts)),
                refusal(lambda: client.embeddings.create(model="other", input=texts)),
                refusal(lambda: client.embeddings.create(model=model, input=[])),
                refusal(lambda: client.embeddings.create(model=model, input=[[1, 2, 3]])),
            ],
        }
    )
)  # fmt: skip
