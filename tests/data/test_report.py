"""Reports add up, and are read by people and by programs."""

from tf_transformer.data.report import CorpusReport, Finding


def test_findings_keep_the_first_lines_and_add_up() -> None:
    finding = Finding.at([2, 3]) + Finding.at([5, 7, 11])
    assert finding == Finding(5, (2, 3, 5))
    assert str(finding) == "5 (lines 2, 3, 5, …)"
    assert str(Finding.at([7])) == "1 (line 7)" and str(Finding(1234, (1,))) == "1,234 (lines 1, …)"


def test_steps_extend_a_report() -> None:
    report = CorpusReport("train", 13, warnings=("first",))
    report = report.extended({"empty source": Finding.at([2, 3]), "none": Finding.at([])})
    report = report.extended(
        {"empty source": Finding.at([5])}, {"duplicate pairs": Finding.at([7])}, ["second"]
    )
    assert report.kept == 10
    assert report.to_lines() == [
        "train: 13 rows read, 10 kept",
        "  dropped: empty source: 3 (lines 2, 3, 5)",
        "  noted: duplicate pairs: 1 (line 7)",
        "  warning: first",
        "  warning: second",
    ]
    assert report.to_dict() == {
        "name": "train",
        "read": 13,
        "kept": 10,
        "dropped": {"empty source": {"count": 3, "first_lines": [2, 3, 5]}},
        "noted": {"duplicate pairs": {"count": 1, "first_lines": [7]}},
        "warnings": ["first", "second"],
    }
