"""Models of services that another thread cuts, and what they rest on.

Small programs by hand, where a path that no trace shows is dear. A figure is a bound only where it
is no less than that path.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from flow_programs import thumb_function
from hand_paths import Bound, Firmware, firmware, longest

from wcetchar.errors import InputError
from wcetchar.model.characterization import Word
from wcetchar.model.instruction import MaskRegister
from wcetchar.model.masks import MaskState
from wcetchar.model.observed import ObservedPath

DEAR = 40 * "nop\n"
TWO_REQUESTS = f"""
.global f
.type f, @function
f:      beqz a0, other
ask:    ecall
after:  nop
last:   ret
other:  nop
wait:   ecall
behind: {DEAR}
end:    j last
"""
ESTIMATE, BOUND = Word.ESTIMATE, Word.BOUND


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Firmware:
    return firmware(tmp_path, monkeypatch, "riscv", TWO_REQUESTS)


def resume(made: Firmware, facts: str) -> Bound:
    traced = made.path("s/call", ("f", "ask")), made.path("s/resume", ("after", "last"))
    return made.bounds(facts, *traced)["s/resume"]


def test_a_part_begins_behind_each_request_of_the_parts_before_it(two: Firmware) -> None:
    both = f"switch at {two.at('wait')}\nswitch at {two.at('ask')}\n"
    assert resume(two, both) == Bound(42, BOUND)
    in_call = f"service s/call {{\n{both}}}\n"
    own = f"service s/resume {{\nswitch at {two.at('ask')}\n}}\n"
    assert resume(two, in_call + own) == Bound(42, BOUND)
    observed = in_call.replace("switch at", "observed switch at") + own
    assert resume(two, observed) == Bound(42, ESTIMATE)


def test_what_was_only_observed_before_a_part_makes_it_an_estimate(two: Firmware) -> None:
    both = f"switch at {two.at('wait')}\nswitch at {two.at('ask')}\n"
    before = "service s/call, s/between {{\n{} " + two.at("wait") + "\n}}\n"
    assert resume(two, both + before.format("never")) == Bound(2, BOUND)
    assert resume(two, both + before.format("observed never")) == Bound(2, ESTIMATE)


FALLS_THROUGH = f"""
.global f
.type f, @function
f:      beqz a0, other
ask:    ecall
after:  nop
last:   ret
other:  nop
wait:   ecall
.size f, .-f
.global g
.type g, @function
g:      {DEAR}
end:    ret
.size g, .-g
"""


def test_a_request_that_comes_back_to_another_function_has_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its handler leaves in registers, the function that begins there finds: not followed."""
    made = firmware(tmp_path, monkeypatch, "riscv", FALLS_THROUGH)
    both = f"switch at {made.at('wait')}\nswitch at {made.at('ask')}\n"
    with pytest.raises(AssertionError, match="comes back to where another function begins"):
        resume(made, both)


RELATED = f"""
.global f
.type f, @function
f:      nop
one:    nop
ask:    ecall
after:  beqz a0, last
        j two
two:    {DEAR}
last:   ret
"""


@pytest.mark.parametrize("services", ["s", "s, !other/call", "!other/call"])
def test_what_whole_services_relate_says_nothing_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, services: str
) -> None:
    """The one place is passed before the switch, the other one behind it. That a block names parts
    in which it does not hold changes nothing."""
    made = firmware(tmp_path, monkeypatch, "riscv", RELATED)
    traced = (
        made.path("s/call", ("f", "ask")),
        made.path("s/resume", ("after", "after"), ("last", "last")),
    )
    related = f"count({made.at('two')}) <= count({made.at('one')})"
    facts = f"switch at {made.at('ask')}\nservice {services} {{\n{related}\n}}\n"
    with pytest.raises(InputError, match="no service that the fact holds in reaches its place"):
        made.bounds(facts, *traced)
    assert made.bounds(facts.split("service")[0], *traced)["s/resume"].time == 43


MASKED = f"""
.global f
.type f, %function
f:      mrs r1, primask
test:   cbz r1, last
        {DEAR}
last:   bx lr
"""
ONE = "  s: {mark: 1, kind: call, entries: [f]}\n"


def test_where_control_hangs_on_masks_at_the_beginning_there_is_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = firmware(tmp_path, monkeypatch, "v7m", MASKED, ONE)
    traced = made.path("s", ("f", "f"), ("test", "test"), ("last", "last"))
    (model,) = made.models("", traced).values()
    assert "it begins as traces showed, with nothing held off" in model.assumptions
    assert made.bounds("", traced)["s"] == Bound(3, ESTIMATE)


NESTING = f"""
.global f
.type f, %function
f:      ldr r0, =wcet_mark
        ldr r1, [r0, #4]
test:   cbz r1, last
        {DEAR}
last:   bx lr
.pool
"""


@pytest.mark.parametrize(("said", "word"), [("", BOUND), ("observed ", ESTIMATE)])
def test_what_a_variable_was_observed_to_hold_makes_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, word: Word
) -> None:
    made = firmware(tmp_path, monkeypatch, "v7m", NESTING, ONE)
    traced = made.path("s", ("f", "test"), ("last", "last"))
    assert made.bounds(f"{said}at entry wcet_mark+4 == 0", traced)["s"] == Bound(4, word)
    assert made.bounds("", traced)["s"] == Bound(44, BOUND)


def test_two_values_of_one_variable_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = firmware(tmp_path, monkeypatch, "v7m", NESTING, ONE)
    traced = made.path("s", ("f", "test"), ("last", "last"))
    twice = "at entry wcet_mark+4 == 0\nservice s { at entry wcet_mark+4 == 1 }"
    with pytest.raises(InputError, match="another fact says 0 of wcet_mark"):
        made.bounds(twice, traced)


INDIRECT = f"""
.global f
.type f, %function
f:      ldr r3, =wcet_mark
        ldr r3, [r3]
call:   bx r3
.global g
.type g, %function
g:      movs r0, #1
go:     b f
.global cheap
.type cheap, %function
cheap:  bx lr
.global dear
.type dear, %function
dear:   {DEAR}
        bx lr
.pool
"""
TWO = ONE + "  t: {mark: 2, kind: call, entries: [g]}\n"


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ("call at {0}: cheap", BOUND),
        ("service s {{ call at {0}: cheap }}", ESTIMATE),
        ("service s {{ observed call at {0}: cheap }}", ESTIMATE),
        ("service s, t {{ call at {0}: cheap }}", BOUND),
    ],
)
def test_where_a_call_goes_in_one_service_is_not_said_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: str, word: Word
) -> None:
    made = firmware(tmp_path, monkeypatch, "v7m", INDIRECT, TWO)
    traced = made.path("s", ("f", "call"), ("cheap", "cheap"))
    other = made.path("t", ("g", "go"), ("f", "call"), ("cheap", "cheap"))
    found = made.bounds(facts.format(made.at("call")), traced, other)
    assert found["t"] == Bound(6, word)
    assert found["s"] == Bound(4, ESTIMATE if "observed" in facts else BOUND)


RECURSIVE = """
.global f
.type f, %function
f:      push {lr}
call:   bl g
back:   pop {pc}
.global g
.type g, %function
g:      cbz r0, out
        push {lr}
        subs r0, #1
        bl g
        pop {pc}
out:    bx lr
"""
DEEP = """  s:
    mark: 1
    kind: call
    entries: [f]
    parameters: {X: {kind: state, range: 0..RANGE, meaning: any}}
"""


def test_a_depth_of_recursion_is_the_largest_at_any_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at the ends of the range alone, where this formula has its least."""
    made = firmware(tmp_path, monkeypatch, "v7m", RECURSIVE, DEEP.replace("RANGE", "63"), 64)
    flat = made.path("s", ("f", "call"), ("g", "g"), ("out", "out"), ("back", "back"), values=[0])
    most = made.bounds("recursion of g: at most 6", flat, X=20)["s"]
    found = made.bounds("recursion of g: at most min(6, 1 + X, 64 - X)", flat, X=20)["s"]
    assert found == most == Bound(3 + 5 * 5 + 2, BOUND)


def test_a_depth_of_recursion_that_cannot_be_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = firmware(
        tmp_path, monkeypatch, "v7m", RECURSIVE, DEEP.replace("RANGE", "100000"), 1 << 17
    )
    flat = made.path("s", ("f", "call"), ("g", "g"), ("out", "out"), ("back", "back"), values=[0])
    with pytest.raises(InputError, match="more than 100,000 values of X"):
        made.bounds("recursion of g: at most X", flat, X=1)


SEVERAL = f"""
.global f
.type f, %function
f:      nop
last:   bx lr
.global g
.type g, %function
g:      {DEAR}
        bx lr
"""


def test_a_function_that_a_service_may_begin_with_and_no_trace_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = ONE.replace("[f]", "[f, g]")
    made = firmware(tmp_path, monkeypatch, "v7m", SEVERAL, services)
    assert made.bounds("", made.path("s", ("f", "last")))["s"] == Bound(2, ESTIMATE)


NOTED = f"""
.global f
.type f, %function
f:      ldr r3, =wcet_mark
test:   cbz r0, ask
note:   str r0, [r3]
        {DEAR}
noted:  bx lr
ask:    ldr r3, =0xe000ed04
icsr:   str r0, [r3]
last:   bx lr
.pool
"""


def test_what_a_line_stores_beside_a_request_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the function is one line, and one of its stores goes to what is no memory."""
    source = '.file 1 "program.s"\n' + NOTED.replace("f:  ", ".loc 1 7\nf:")
    made = firmware(tmp_path, monkeypatch, "v7m", source, ONE)
    noted = made.path("s", ("f", "test"), ("note", "noted"))
    found = made.bounds("never switch at program.s:7", noted)["s"]
    assert found == Bound(44, BOUND)
    with pytest.raises(InputError, match=r"no store at .* is known to ask for a switch"):
        made.bounds(f"never switch at {made.at('note')}", noted)


ACTIVATION = f"""
.global f
.type f, @function
f:      nop
again:  beqz a0, other
ask:    ecall
after:  nop
goes:   j again
other:  nop
wait:   ecall
behind: {DEAR}
end:    j again
"""
THREAD = "  s: {mark: 1, kind: activation, entries: [f]}\n"


def test_an_activation_begins_and_ends_where_a_switch_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = firmware(tmp_path, monkeypatch, "riscv", ACTIVATION, THREAD)
    again = made.path("s", ("after", "goes"), ("again", "ask"))
    round_ = f"loop at {made.at('again')}: at most 1\n"
    assert made.bounds(round_, again)["s"] == Bound(4, ESTIMATE)
    both = f"{round_}switch at {made.at('wait')}\nswitch at {made.at('ask')}\n"
    # From behind the wait that no trace shows: 40 nops, the jump, and to the wait again.
    (model,) = made.models(both, again).values()
    assert any("its start is no such activation" in one for one in model.assumptions)
    assert made.bounds(both, again)["s"] == Bound(40 + 1 + 3, BOUND)
    # What never happens in such an activation may have happened before it.
    never = f"service s {{ never {made.at('other')} }}\n"
    assert made.bounds(both + never, again)["s"] == Bound(40 + 1 + 2, BOUND)
    # What never happens at all has not.
    assert made.bounds(f"{both}never {made.at('other')}\n", again)["s"] == Bound(4, BOUND)


def test_a_thread_that_starts_with_an_activation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ACTIVATION.replace("f:      nop", "f:      nop\n" + 60 * "nop\n")
    made = firmware(tmp_path, monkeypatch, "riscv", source, THREAD)
    both = f"switch at {made.at('wait')}\nswitch at {made.at('ask')}\n"
    both += f"loop at {made.at('again')}: at most 1\n"
    again = made.path("s", ("after", "goes"), ("again", "ask"))
    assert made.bounds(both, again)["s"] == Bound(40 + 1 + 3, BOUND)
    # The thread may go on behind the first request: nobody else need be ready.
    starts = made.path("s", ("f", "ask"))
    assert made.bounds(both, again, starts)["s"] == Bound(61 + 3 + 40 + 1 + 3, BOUND)


def test_relations_of_activations_are_of_facts_that_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a one may begin behind the one place, and pass the other alone."""
    made = firmware(tmp_path, monkeypatch, "riscv", ACTIVATION, THREAD)
    facts = f"switch at {made.at('wait')}\nswitch at {made.at('ask')}\n"
    facts += f"loop at {made.at('again')}: at most 1\n"
    again = made.path("s", ("after", "goes"), ("again", "ask"))
    related = f"count({made.at('behind')}) <= count({made.at('other')})"
    with pytest.raises(InputError, match="no service that the fact holds in reaches its place"):
        made.bounds(f"{facts}service !other {{ {related} }}\n", again)
    named = made.bounds(f"{facts}service s {{ {related} }}\n", again)["s"]
    assert named == Bound(40 + 1 + 3, BOUND)
    none = f"service s {{ count({made.at('behind')}) <= count({made.at('f')}) }}\n"
    assert made.bounds(facts + none, again)["s"] == Bound(2 + 3, BOUND)


OTHERS = (
    "  t: {mark: 2, kind: activation, entries: [f]}\n"
    "  call: {mark: 3, kind: blocking call, entries: [f]}\n"
)


@pytest.mark.parametrize("who", ["s", "t", "call"])
def test_an_activation_begins_behind_requests_of_other_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """Another activation of the thread may have ended there."""
    made = firmware(tmp_path, monkeypatch, "riscv", ACTIVATION, THREAD + OTHERS)
    again = made.path("s", ("after", "goes"), ("again", "ask"))
    facts = f"loop at {made.at('again')}: at most 1\nswitch at {made.at('ask')}\n"
    facts += f"service {who} {{ switch at {made.at('wait')} }}\n"
    assert made.bounds(facts, again)["s"] == Bound(40 + 1 + 3, BOUND)


TARGETS = f"""
.global f
.type f, @function
f:      nop
again:  lw a5, 0(a4)
call:   jalr a5
back:   nop
ask:    ecall
after:  nop
goes:   j again
.size f, .-f
.global cheap
.type cheap, @function
cheap:  ret
.size cheap, .-cheap
.global dear
.type dear, @function
dear:   nop
wait:   ecall
behind: {DEAR}
end:    ret
.size dear, .-dear
"""


def test_where_a_call_goes_in_an_activation_says_nothing_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = firmware(tmp_path, monkeypatch, "riscv", TARGETS, THREAD)
    runs = (("after", "goes"), ("again", "call"), ("cheap", "cheap"), ("back", "ask"))
    facts = f"loop at {made.at('again')}: at most 1\n"
    facts += f"switch at {made.at('ask')}\nswitch at {made.at('wait')}\n"

    def found(more: str) -> Bound:
        return made.bounds(
            facts + more.format(f"call at {made.at('call')}"), made.path("s", *runs)
        )["s"]

    assert found("{}: cheap\n") == Bound(7, BOUND)
    assert found("service s {{ {}: cheap }}\n") == Bound(7, ESTIMATE)
    # From behind the wait in `dear`, back, round, and through all of it.
    assert found("{}: cheap, dear\n") == Bound(41 + 4 + 2 + 43 + 2, BOUND)
    never = f"service s {{ never {made.at('dear')} }}\n"
    assert found("{}: cheap, dear\n" + never.replace("{", "{{").replace("}", "}}")).word is BOUND


def test_where_a_call_goes_in_a_part_says_nothing_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = TARGETS.replace("f:      nop", "f:      addi sp, sp, -16\nsw ra, 12(sp)")
    source = source.replace("after:  nop", "after:  lw ra, 12(sp)\naddi sp, sp, 16")
    made = firmware(tmp_path, monkeypatch, "riscv", source.replace("j again", "ret"))
    call = made.path("s/call", ("f", "call"), ("cheap", "cheap"), ("back", "ask"))
    facts = f"switch at {made.at('ask')}\nswitch at {made.at('wait')}\n"
    goes = f"call at {made.at('call')}: cheap"
    resumed = (call, made.path("s/resume", ("after", "goes")))
    assert made.bounds(f"{facts}{goes}\n", *resumed)["s/resume"].word is BOUND
    own = f"{facts}service s/resume {{ {goes} }}\n"
    assert made.bounds(own, *resumed)["s/resume"].word is ESTIMATE


STARTS = f"""
.global f
.type f, @function
f:      nop
first:  li a5, 0x02000000
req:    sw a4, 0(a5)
behind: {DEAR}
again:  csrci mstatus, 8
ask:    ecall
after:  csrsi mstatus, 8
goes:   j again
.size f, .-f
"""


@pytest.mark.parametrize("masked", [False, True])
def test_what_is_masked_where_an_activation_begins_is_not_where_its_thread_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, masked: bool
) -> None:
    made = firmware(tmp_path, monkeypatch, "riscv", STARTS, THREAD)
    facts = f"loop at {made.at('again')}: at most 1\n"
    facts += f"switch at {made.at('ask')}\nswitch at {made.at('req')}\n"
    enabled = MaskRegister.MSTATUS_MIE.bits
    masks = MaskState().written(MaskRegister.MSTATUS_MIE, 0 if masked else enabled)
    again = replace(made.path("s", ("after", "goes"), ("again", "ask")), masks=masks)
    assert made.bounds(facts, again)["s"].time >= 40 + 2


ENTERED = f"""
.global f
.type f, %function
f:      ldr r0, =wcet_mark
        ldr r1, [r0, #4]
test:   cbz r1, again
        movs r2, #0
        str r2, [r0, #4]
req:    svc #0
behind: {DEAR}
again:  nop
ask:    svc #0
after:  nop
goes:   b again
.pool
"""


@pytest.fixture
def tested_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Firmware, ObservedPath, str]:
    """A thread that looks at a variable when it starts; an activation; and its other facts."""
    source = ENTERED.replace("#4]", "#0]")
    made = firmware(tmp_path, monkeypatch, "v7m", source, THREAD)
    one = made.path("s", ("after", "goes"), ("again", "ask"))
    facts = f"loop at {made.at('again')}: at most 1\n"
    facts += f"switch at {made.at('ask')}\nswitch at {made.at('req')}\n"
    return made, one, facts


@pytest.mark.parametrize(
    "fact", ["at entry wcet_mark == 0", "service s { at entry wcet_mark == 0 }"]
)
def test_what_a_variable_holds_at_entry_is_not_said_of_where_a_thread_starts(
    tested_by_a_thread: tuple[Firmware, ObservedPath, str], fact: str
) -> None:
    made, one, facts = tested_by_a_thread
    assert made.bounds(facts, one) == made.bounds(f"{facts}{fact}\n", one)
    assert made.bounds(facts, one)["s"].time >= 40 + 2


@pytest.mark.parametrize(
    "fact", ["at thread start wcet_mark == 0", "service s { at thread start wcet_mark == 0 }"]
)
def test_what_a_variable_holds_where_a_thread_starts(
    tested_by_a_thread: tuple[Firmware, ObservedPath, str], fact: str
) -> None:
    made, one, facts = tested_by_a_thread
    less = made.bounds(f"{facts}{fact}\n", one)["s"]
    assert less.word is BOUND
    assert less.time < 40 < made.bounds(facts, one)["s"].time
    other = made.bounds(f"{facts}{fact.replace('0', '1')}\n", one)["s"]
    assert other == made.bounds(facts, one)["s"]


COUNTED = f"""
.global f
.type f, %function
f:      ldr r0, =wcet_mark
        movs r1, #1
        ldr r2, [r0, #4]
        adds r2, r2, r1
        str r2, [r0, #4]
req:    svc #0
behind: ldr r2, [r0, #4]
        cbz r2, out
        {DEAR}
out:    nop
ask:    svc #0
goes:   b f
.pool
"""


def test_a_thread_keeps_its_variable_over_a_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its value comes from the path before the switch, and not from where the thread starts."""
    made = firmware(tmp_path, monkeypatch, "v7m", COUNTED, THREAD)
    dear = made.path("s", ("behind", "ask"))
    facts = f"loop at {made.at('f')}: at most 1\n"
    facts += f"switch at {made.at('ask')}\nswitch at {made.at('req')}\n"
    for fact in ("", "at thread start wcet_mark+4 == 0\n"):
        assert made.bounds(facts + fact, dear)["s"].time >= 40 + 2


def test_a_value_where_a_thread_starts_is_said_of_activations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = firmware(tmp_path, monkeypatch, "v7m", ENTERED)
    one = made.path("s", ("f", "test"), ("again", "ask"))
    with pytest.raises(InputError, match="s is no activation of a thread"):
        made.bounds("service s* { at thread start wcet_mark+4 == 0 }", one)


CALLED_AND_NOT = (
    "  s: {mark: 1, kind: call, entries: [f]}\n  t: {mark: 2, kind: call, entries: [h]}\n"
)


@pytest.mark.parametrize("other", ["b via\nnop\nbx lr", "nop"])
def test_a_routine_that_is_not_only_called_goes_where_facts_of_calls_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Of Armv4T: another function jumps to it, or goes on in it; traces saw one of its targets."""
    source = (
        thumb_function("f", "push {r4, lr}\nc1: bl via\nc2: pop {r4}\npop {r1}\nf9: bx r1")
        + thumb_function("h", other)
        + thumb_function("via", "bx r3")
        + thumb_function("a", "bx lr")
        + thumb_function("b", DEAR + "bx lr")
    )
    made = firmware(tmp_path, monkeypatch, "thumb", source, CALLED_AND_NOT)
    one = made.path("s", ("f", "c1"), ("via", "via"), ("a", "a"), ("c2", "f9"))
    two = made.path("t", ("h", "h"), ("via", "via"), ("a", "a"))
    facts = f"call at {made.at('c1')}: {made.at('a')}, {made.at('b')}\n"
    seen = {made.made.at("via"): (made.made.at("a"),)}
    assert longest(made.models(facts, one, two, targets=seen)["s"], {}) == Bound(
        2 + 1 + 41 + 3, BOUND
    )
