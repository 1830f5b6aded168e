from evichain.experiments.report import Report, Table, markdown


def test_a_page_has_the_claim_the_tables_the_picture_and_the_command() -> None:
    report = Report(
        [Table(("model", "the paper"), [("a|b", 0.91), (None, 1234567)], "ml-100k")],
        lambda figure: None,
        remarks=("So it is.",),
    )
    page = markdown(
        report, name="online", title="A title", claim="it holds.", command="evichain", quick=False
    )
    lines = page.splitlines()
    assert lines[0] == "# A title"
    assert "The paper: it holds." in lines
    assert "| a\\|b | 0.910 |" in lines
    assert "| - | 1,234,567 |" in lines
    assert "![A title](online.png)" in lines
    assert "So it is." in lines
    assert lines[-1] == "Made by `evichain`."
    assert "mean nothing" not in page


def test_a_quick_page_says_that_it_is_one() -> None:
    report = Report([], lambda figure: None)
    page = markdown(report, name="x", title="T", claim="c", command="evichain", quick=True)
    assert "The figures mean nothing." in page
