"""How much logging may take."""

import time

import pytest

from tf_transformer.callbacks.board.allowance import Allowance


def test_time_for_curves_is_there_at_once_and_for_pictures_when_it_has_come_together() -> None:
    elapsed = [0.0]
    allowance = Allowance(lambda: elapsed[0])
    assert allowance.has_room() and not allowance.has_room_for(0.5, 0)
    elapsed[0] = 33.0  # of which 1.5 % are 0.495
    assert not allowance.has_room_for(0.5, 0)
    elapsed[0] = 34.0
    assert allowance.has_room_for(0.5, 0)
    allowance.seconds = 0.1
    assert not allowance.has_room_for(0.5, 0)
    allowance.seconds = 1.5  # 1 s at once and 0.51
    assert allowance.has_room()
    allowance.seconds = 1.52
    assert not allowance.has_room()


def test_bytes_are_bounded_by_the_hour() -> None:
    elapsed = [3600.0]
    allowance = Allowance(lambda: elapsed[0], written=15_900_000)
    assert allowance.has_room_for(0, 90_000) and not allowance.has_room_for(0, 110_000)
    allowance.written = 18_999_999
    assert allowance.has_room()
    allowance.written = 19_000_000
    assert not allowance.has_room()
    elapsed[0] += 3600
    assert allowance.has_room()


def test_a_continued_training_has_spent_its_share_of_the_time_before() -> None:
    allowance = Allowance(lambda: 100.0, share=0.5)
    assert allowance.seconds == 50.0 and not allowance.has_room_for(0.1, 0)


def test_what_a_block_takes_is_counted_also_when_it_fails() -> None:
    allowance = Allowance(lambda: 0.0)
    with pytest.raises(OSError, match="full"), allowance.spending():
        time.sleep(0.01)
        raise OSError("full")
    assert allowance.seconds >= 0.01
