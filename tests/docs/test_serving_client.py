"""The lines of docs/serving_client.md, run against a server."""

import pytest

from export.server.running import DevelopmentServer
from tests.docs.markdown import blocks, read

PAGE = "docs/serving_client.md"


@pytest.mark.long
def test_both_programs_print_the_answers(finetuned_run, capsys):
    programs = [block.text for block in blocks(read(PAGE)) if block.language == "python"]
    assert len(programs) == 2 and all(program.count("\n") < 20 for program in programs)
    with DevelopmentServer(finetuned_run.path, "reviews", 0, 0) as server:
        for program in programs:
            program = program.replace(":8501", f":{server.rest_api_port}").replace(":8500", f":{server.port}")
            exec(compile(program, PAGE, "exec"), {})
    labels = finetuned_run.task().labels
    rest, grpc = capsys.readouterr().out.splitlines()[:2], capsys.readouterr()
    assert len(rest) == 2 and all(line.split()[0] in labels for line in rest), grpc
