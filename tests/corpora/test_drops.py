from clipaudit.corpora.drops import DROPS, Drops


def test_details_do_not_change_between_runs():
    drops = Drops("index")
    drops.add(0, 1, "a", "corrupt image", "cannot read <BytesIO object at 0x7f00deadbeef>")
    drops.add(0, 2, "b", "corrupt image", "half \ud800" + "x" * 1000)

    details = drops.table()["detail"].to_pylist()

    assert details[0] == "cannot read <BytesIO object>"
    assert details[1].startswith("half \\ud800x")
    assert len(details[1]) == 300


def test_no_drops_give_an_empty_table():
    assert Drops("embed").table().schema == DROPS
    assert Drops("embed").table().num_rows == 0
