"""What came out: teacher, student and its LiteRT files side by side."""

_ABOUT_FILES = ("bytes", "metrics", "agreement", "latency_ms")


def student_report(models: dict[str, dict], files: dict) -> dict:
    """The report of a student.

    Args:
      models: "teacher", "cut teacher" and "student" -> what `measured_model` gives.
      files: what `export_tflite` returns.

    Returns:
      dict: path of the files; best_metric; models, as given; files: quantization -> bytes, metrics,
      agreement, latency_ms; typical: median_tokens of the development texts, and the
      length that has room for them.
    """
    student, path = models["student"], files.pop("path")
    tokens = student["median_tokens"]
    lengths = next(iter(files.values()))["lengths"]
    hidden = ("best_metric", "median_tokens")
    return {
        "path": path,
        "best_metric": student["best_metric"],
        "models": {name: {k: v for k, v in one.items() if k not in hidden} for name, one in models.items()},
        "files": {name: {key: one[key] for key in _ABOUT_FILES} for name, one in files.items()},
        "typical": {
            "median_tokens": tokens,
            "length": next((length for length in lengths if tokens <= length), lengths[-1]),
        },
    }
