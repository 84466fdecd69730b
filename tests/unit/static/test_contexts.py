"""Call contexts of small call trees, written out by hand."""

from __future__ import annotations

import pytest

from wcetchar.errors import NoSoundBound
from wcetchar.static import contexts as module
from wcetchar.static.contexts import ROOT, Contexts, has_stack

F, G, H, K = 0x100, 0x200, 0x300, 0x400


def test_a_context_for_each_string_of_calls() -> None:
    contexts = Contexts(F)
    first, new = contexts.called((ROOT, 1), G, tail=False) or (0, False)
    second, _ = contexts.called((ROOT, 2), G, tail=False) or (0, False)
    assert new
    assert first != second
    assert contexts.called((ROOT, 1), G, tail=False) == (first, False)
    assert contexts[second].stack == (F, G)
    assert list(contexts.returns_to(first)) == [(ROOT, 1)]
    assert list(contexts.returns_to(ROOT)) == [None]


def test_what_is_jumped_to_returns_for_its_caller() -> None:
    contexts = Contexts(F)
    called, _ = contexts.called((ROOT, 1), G, tail=False) or (0, False)
    jumped, _ = contexts.called((called, 4), H, tail=True) or (0, False)
    assert list(contexts.returns_to(jumped)) == [(ROOT, 1)]
    assert contexts.returning_for(called) == {called, jumped}
    out, _ = contexts.called((ROOT, 5), H, tail=True) or (0, False)
    assert list(contexts.returns_to(out)) == [None]


def test_strings_of_limited_length_are_shared() -> None:
    contexts = Contexts(F, depth=1)
    first, _ = contexts.called((ROOT, 1), G, tail=False) or (0, False)
    second, _ = contexts.called((ROOT, 2), G, tail=False) or (0, False)
    inner, new = contexts.called((first, 7), H, tail=False) or (0, False)
    assert new
    assert contexts.called((second, 7), H, tail=False) == (inner, True)
    assert sorted(site for site in contexts.returns_to(inner) if site) == [(first, 7), (second, 7)]


def test_a_shared_context_has_the_stack_that_all_its_callers_have() -> None:
    """Else a fact about what is called from F would leave out what others call as well, and calls
    of K that are active when F calls would count for the others, too."""
    contexts = Contexts(F, limits={K: 2}, depth=1)
    called, _ = contexts.called((ROOT, 1), K, tail=False) or (0, False)
    again, _ = contexts.called((called, 1), K, tail=False) or (0, False)
    inner, _ = contexts.called((again, 2), H, tail=False) or (0, False)
    assert contexts.called((called, 2), H, tail=False) == (inner, True)
    assert contexts[inner].stack == (K, H)
    assert contexts.called((inner, 3), K, tail=False) is not None


def test_depth_of_recursion() -> None:
    contexts = Contexts(F, limits={G: 2})
    one, _ = contexts.called((ROOT, 1), G, tail=False) or (0, False)
    two, _ = contexts.called((one, 1), G, tail=False) or (0, False)
    assert contexts.called((two, 1), G, tail=False) is None


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONTEXTS", 3)
    contexts = Contexts(F)
    contexts.called((ROOT, 1), G, tail=False)
    contexts.called((ROOT, 2), G, tail=False)
    with pytest.raises(NoSoundBound, match="more than 3 contexts"):
        contexts.called((ROOT, 3), G, tail=False)


@pytest.mark.parametrize(
    ("called", "holds"),
    [((), True), ((F,), True), ((F, H), True), ((G, H), True), ((H, G), False), ((H, H), False)],
)
def test_call_stacks(called: tuple[int, ...], holds: bool) -> None:
    assert has_stack((F, G, H), called) is holds
