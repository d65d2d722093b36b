"""Models that kbert does not read: what kbert lacks for each, or how it becomes one that is read."""

from pathlib import Path

EXPORT_FILE = "assets.extra/kbert.json"  # in a version that `kbert export` wrote
ALBERT = "of ALBERT, whose layers share their weights; kbert has no such encoder"
_EXPORT = (
    "part of an export of kbert",
    "ask it by kbert serve {path}, or give the run that it was exported from",
)
_IN_A_RUN = (
    "part of a run of kbert",
    "give the folder of the run. Where nothing chooses a checkpoint, the last is taken, or the best; another "
    "becomes a folder of its own in Python: kbert.load(RUN, checkpoint=STEP).save(FOLDER)",
)
STATE_IN_RUN = "checkpoints/step-*/state.json"
ADAPTER_FILES = ("adapter_model.safetensors", "adapter_model.bin", "adapter_config.json")
_MERGE = (
    "merge it into the weights: in Python with peft, model = AutoPeftModelFor....from_pretrained(folder) "
    "with the "
    "class of its head, and model.merge_and_unload().save_pretrained(new_folder)"
)
_WITHOUT_MODEL = "without the model that it changes"
HEAD_FILES = ("model_head.pkl", "model_head.joblib")
HEAD = (
    "SetFit's classifier, a program that kbert does not run; the vectors are read without it, and a "
    "classifier of kbert can be trained from them"
)
ADAPTER = f"an adapter of PEFT, whose weights belong to the answers; {_MERGE}"
# Files in a folder -> (what they are, the way on). `{path}` is the folder.
_OTHERS = (
    *((name, f"an adapter of PEFT, {_WITHOUT_MODEL}", _MERGE) for name in ADAPTER_FILES[:2]),
    (
        "adapter_config.json",
        f"of an adapter, {_WITHOUT_MODEL}",
        f"where it has a peft_type, {_MERGE}; where it has none, the adapter is of AdapterHub, with layers "
        "that kbert does not have: give the model that it names as model_name",
    ),
    (
        "saved_model/1/saved_model.pb",
        "a SavedModel of transformers, which is for serving",
        "give the folder with the tf_model.h5 that save_pretrained wrote beside it",
    ),
    (
        "flax_model.msgpack",
        "weights of Flax",
        "in Python with transformers 4 and Flax: model = AutoModel.from_pretrained({path!r}, from_flax=True) "
        "with the class of its head, and model.save_pretrained({path!r})",
    ),
    *(
        (pattern, "an ONNX graph, without a model to train", "give the folder that it was exported from")
        for pattern in ("*.onnx", "onnx/*.onnx")
    ),
    (
        "*.tflite",
        "a LiteRT file, which answers texts and has no Keras model",
        "load the run or the checkpoint that it was made of",
    ),
    (
        "*.gguf",
        "a file of llama.cpp, whose weights are mostly quantized",
        "give the model's safetensors that it was made of",
    ),
    *(
        (
            pattern,
            f"{what} that Keras 3 saved, with names of its own",
            "open it with the library that made it. Of KerasHub's models save_to_preset(FOLDER) writes what "
            "kbert reads; of kbert's give the run",
        )
        for pattern, what in (("*.keras", "a model"), ("*.weights.h5", "weights"))
    ),
    (
        "*.h5",
        "weights that Keras saved",
        "where a class of transformers made them, put config.json and vocab.txt of the model beside the "
        "file, and call it tf_model.h5; of bert4keras, save_weights_as_checkpoint writes Google's format",
    ),
    (EXPORT_FILE, *_EXPORT),
    (f"[0-9]*/{EXPORT_FILE}", *_EXPORT),
    ("optimizer.safetensors", *_IN_A_RUN),
    ("step-*/optimizer.safetensors", *_IN_A_RUN),
    (STATE_IN_RUN, "part of a run of kbert, whose run.json is missing", "copy the whole folder of the run"),
    (
        "*.data-00000-of-*",
        "of a checkpoint of TensorFlow",
        "put its config beside it under the name bert_config.json",
    ),
    *(
        (
            name,
            "weights of PyTorch without their config",
            "put the model's config.json beside the file; before transformers it was called bert_config.json",
        )
        for name in ("pytorch_model.bin", "model.safetensors")
    ),
    *(
        (pattern, "an archive", "unpack it, and give the folder of the model that it holds")
        for pattern in ("*.zip", "*.tar", "*.tar.gz", "*.tgz")
    ),
    *(
        (
            pattern,
            "a checkpoint as programs of PyTorch save it in training (Composer, fairseq, Lightning)",
            "write it in Hugging Face's format: by the program's converter, such as ModernBERT's "
            "convert_to_hf.py, or in Python by save_pretrained of the class of transformers",
        )
        for pattern in ("*.pt", "*.pth", "*.ckpt")
    ),
)

_SCALED_POSITIONS = "its rotary positions that are scaled for long texts"
# model_type of transformers -> what kbert lacks. The families are those that people ask for.
_LACKING = {
    "albert": "layers that share their weights",
    "camembert": "its numbering of SentencePiece's pieces",
    "deberta": "attention that reads distances apart from content",
    "deberta-v2": "attention that reads distances apart from content",
    "gte": _SCALED_POSITIONS,
    "mobilebert": "its bottleneck layers",
    "new": _SCALED_POSITIONS,  # gte-base-en-v1.5, gte-multilingual-base
    "nomic_bert": "the SiLU of its feed-forward layers",
    "xlnet": "attention in two streams",
}


def lacking(model_type: str) -> str:
    """What kbert lacks for a `model_type` of transformers, as the rest of a sentence; empty if not known."""
    return f"; kbert lacks {_LACKING[model_type]}" if model_type in _LACKING else ""


def other_model(path: Path) -> str:
    """What a folder or file is that no reader takes, and how to go on; empty if it is nothing known.

    Returns:
      The end of a sentence, such as "model.onnx is an ONNX graph ...: give the folder ...".
    """
    folder = path.parent if path.is_file() else path
    for pattern, what, way in _OTHERS:
        files = [path] if path.is_file() and path.match(pattern) else sorted(path.glob(pattern))
        if files:
            return f"{files[0].relative_to(folder)} is {what}: {way.format(path=str(folder))}"
    return ""
