import logging

from clipaudit.progress import Progress


def test_the_end_is_always_logged(caplog):
    caplog.set_level(logging.INFO)
    progress = Progress(logging.getLogger("work"), "embedding", total=10, unit="rows", before=5)

    progress.note(9)
    progress.note(10, "loss 1.5")

    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("embedding: 10 of 10 rows, ")
    assert caplog.messages[0].endswith("/s, 0 s left, loss 1.5")
