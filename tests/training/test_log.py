from unembed.training.log import LOG, RunLog, read_log


def write(folder, *steps, from_step=0):
    log = RunLog(folder, from_step=from_step)
    for step in steps:
        log.write("train", step, loss=step / 3)
    log.close()


def test_lines_after_the_restored_step_are_taken_back(tmp_path):
    write(tmp_path, 1, 2, 3, 4)
    write(tmp_path, 3, from_step=2)
    assert [line["step"] for line in read_log(tmp_path)] == [1, 2, 3]
    assert read_log(tmp_path)[0] == {"kind": "train", "step": 1, "loss": 1 / 3}


def test_a_line_cut_short_by_a_kill_is_left_out(tmp_path):
    write(tmp_path, 1, 2)
    path = tmp_path / LOG
    whole = path.read_bytes()
    text = "größe".encode()
    path.write_bytes(whole + b'{"kind": "sample", "step": 3, "text": "' + text[:3])  # half of a letter
    assert [line["step"] for line in read_log(tmp_path)] == [1, 2]
    write(tmp_path, 3, from_step=2)
    assert [line["step"] for line in read_log(tmp_path)] == [1, 2, 3]


def test_separators_inside_texts_do_not_end_a_line(tmp_path):
    log = RunLog(tmp_path, from_step=0)
    log.write("sample", 1, examples=[("a\u2028b\x85c", "d\u2029e")])
    log.close()
    assert read_log(tmp_path)[0]["examples"] == [["a\u2028b\x85c", "d\u2029e"]]


def test_no_log_is_an_empty_one(tmp_path):
    assert read_log(tmp_path / "nowhere") == []
