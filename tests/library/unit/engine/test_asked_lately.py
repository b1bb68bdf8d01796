"""What a process has asked of late: once in so many seconds, whoever wants to know."""

from camcast.engine.asked_lately import QUESTIONS_MAX, AskedLately


def test_a_question_is_due_again_after_its_time() -> None:
    asked = AskedLately()
    assert asked.when("who?") == float("-inf")
    due = [asked.due("who?", 2.0, now) for now in (0.0, 0.0, 1.9, 2.0, 3.9, 4.5)]
    assert due == [True, False, False, True, False, True]
    assert asked.when("who?") == 4.5


def test_the_oldest_question_is_forgotten_first() -> None:
    asked = AskedLately()
    for number in range(QUESTIONS_MAX):
        assert asked.due(number, 1.0, 0.0)
    assert asked.due(0, 1.0, 1.0)
    assert asked.due("new", 10.0, 1.0)
    assert not asked.due(0, 10.0, 1.0)
    assert asked.due(1, 10.0, 1.0)
    assert len(asked._when) == QUESTIONS_MAX
