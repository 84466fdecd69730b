"""Devicetrees whose buses have no `ranges`, and what is refused: held against Zephyr's own reader,
dtc, and places that are counted here."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from devicetree import edtlib
from devicetree.dtlib import DT
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import MemoryMap
from wcetchar.store.devicetree import load_devicetree

needs_dtc = pytest.mark.skipif(
    not (shutil.which("dtc") and shutil.which("fdtget")),
    reason="needs dtc and fdtget (device-tree-compiler)",
)

CELLS = "#address-cells = <1>; #size-cells = <1>;"
ZEPHYR = f"""\
/dts-v1/;
/ {{
	{CELLS}
	chosen {{
		zephyr,flash = &flash0;
		zephyr,sram = &sram0;
		zephyr,itcm = "/soc/tightly@0";
		zephyr,code-partition = &slot0;
	}};
	cpus {{
		#address-cells = <1>; #size-cells = <0>;
		cpu@0 {{ reg = <0>; clock-frequency = <1 0>; }};
	}};
	sram0: memory@20000000 {{ reg = <0x20000000 0x5000>; }};
	soc {{
		{CELLS} ranges;
		itcm: tightly@0 {{ reg = <0x0 0x4000>; }};
		flash-controller@40022000 {{
			compatible = "st,stm32-flash-controller";
			reg = <0x40022000 0x400>;
			{CELLS}
			flash0: flash@8000000 {{
				compatible = "st,stm32-nv-flash", "soc-nv-flash";
				reg = <0x8000000 0x10000>;
				{CELLS}
				partitions {{
					compatible = "fixed-partitions"; {CELLS}
					slot0: partition@1000 {{ reg = <0x1000 0x4000>; }};
				}};
				otp: otp@100 {{ reg = <0x100 0x10>; }};
			}};
		}};
		pin-controller@40010800 {{
			{CELLS}
			reg = <0x40010800 0x800>;
			gpioa: gpio@40010800 {{ reg = <0x40010800 0x400>; }};
			gpioc: gpio@40011000 {{ reg = <0x40011000 0x400>; }};
			mux: mux@10 {{ reg = <0x10 0x4>; }};
		}};
		spi@40013000 {{
			#address-cells = <1>; #size-cells = <0>;
			reg = <0x40013000 0x400>;
			nor: nor@0 {{
				compatible = "jedec,spi-nor";
				reg = <0>;
				{CELLS}
				cal: cal@0 {{ reg = <0x0 0x10>; }};
			}};
			expander: expander@1 {{
				reg = <1>;
				{CELLS}
				pins: pins@40 {{ reg = <0x40 0x10>; }};
			}};
		}};
		qspi@a0001000 {{
			{CELLS}
			reg = <0xa0001000 0x400>;
			ext: nor@90000000 {{ compatible = "jedec,spi-nor"; reg = <0x90000000 0x1000000>; }};
		}};
		pcie@b0000000 {{
			#address-cells = <3>; #size-cells = <2>;
			reg = <0xb0000000 0x1000>;
			card: card@0 {{ reg = <0 0 0 0 0x1000>; }};
		}};
	}};
}};
"""


def load(text: str, folder: Path | str) -> MemoryMap:
    path = Path(folder) / "x.dts"
    path.write_text(text, encoding="utf-8")
    return load_devicetree(path)


def test_below_controllers_without_ranges(tmp_path: Path) -> None:
    found = load(ZEPHYR, tmp_path)
    memory, peripheral = RegionKind.MEMORY, RegionKind.PERIPHERAL
    assert [(r.name, r.base, r.size, r.kind, r.writable) for r in found.ranges] == [
        ("itcm", 0, 0x4000, memory, True),
        ("flash0", 0x8000000, 0x10000, memory, False),
        ("sram0", 0x20000000, 0x5000, memory, True),
        ("pin-controller@40010800", 0x40010800, 0x800, peripheral, True),
        ("gpioc", 0x40011000, 0x400, peripheral, True),
        ("spi@40013000", 0x40013000, 0x400, peripheral, True),
        ("flash-controller@40022000", 0x40022000, 0x400, peripheral, True),
        ("ext", 0x90000000, 0x1000000, memory, False),
        ("qspi@a0001000", 0xA0001000, 0x400, peripheral, True),
        ("pcie@b0000000", 0xB0000000, 0x1000, peripheral, True),
    ]
    assert found.clock_hz == 1 << 32
    assert [text.partition(", so")[0] for text in found.assumed] == [
        "flash0: /soc/flash-controller@40022000 has no `ranges`",
        "gpioc: /soc/pin-controller@40010800 has no `ranges`",
        "ext: /soc/qspi@a0001000 has no `ranges`",
    ]
    assert [one.text for one in found.left_out] == [
        "otp: a part of /soc/flash-controller@40022000/flash@8000000",
        "mux: /soc/pin-controller@40010800 has no `ranges`, and this reads as an offset into its "
        "registers",
        "nor: /soc/spi@40013000 has no sizes: its addresses are no memory's",
        "cal: a part of /soc/spi@40013000/nor@0",
        "expander: /soc/spi@40013000 has no sizes: its addresses are no memory's",
        "pins: below /soc/spi@40013000/expander@1, whose own addresses are not the processor's",
        "card: /soc/pcie@b0000000 has addresses of 3 cells, which are not the processor's",
        "gpioa at 0x40010800: shares addresses with pin-controller@40010800",
    ]


@needs_dtc
def test_the_numbers_of_memories_without_ranges_are_those_of_fdtget(tmp_path: Path) -> None:
    found = {r.name: r for r in load(ZEPHYR, tmp_path).ranges}
    blob = tmp_path / "x.dtb"
    subprocess.run(["dtc", "-q", "-@", "-O", "dtb", "-o", blob, tmp_path / "x.dts"], check=True)

    def fdtget(*arguments: str) -> list[str]:
        command = ["fdtget", *arguments[:-2], str(blob), *arguments[-2:]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    for label in ("flash0", "sram0", "itcm", "ext", "gpioc"):
        (node,) = fdtget("/__symbols__", label)
        expected = [int(word, 16) for word in fdtget("-t", "x", node, "reg")]
        assert [found[label].base, found[label].size] == expected


WIDTHS = st.sampled_from([1, 2])
BUSES = st.lists(
    st.tuples(WIDTHS, WIDTHS, st.sampled_from(["none", "same", "moved"])), min_size=1, max_size=3
)


@settings(max_examples=60, deadline=None)
@given(BUSES, st.integers(0, 0xFFF), st.integers(1, 0x1000), WIDTHS)
def test_memories_are_where_zephyrs_own_reader_has_them(
    buses: list[tuple[int, int, str]], base: int, size: int, root: int
) -> None:
    """Buses of all widths in each other, with `ranges` and without."""

    def cells(value: int, width: int) -> str:
        return " ".join(f"{value >> 32 * n & 0xFFFFFFFF:#x}" for n in reversed(range(width)))

    text, above = f"#address-cells = <{root}>; #size-cells = <1>;", root
    for depth, (address, length, ranges) in enumerate(buses):
        text += f" bus{depth} {{ #address-cells = <{address}>; #size-cells = <{length}>;"
        moved = f"{cells(0, address)} {cells(0x10000 << depth, above)} {cells(0x100000, length)}"
        text += {"none": "", "same": " ranges;", "moved": f" ranges = <{moved}>;"}[ranges]
        above = address
    text += f' m@0 {{ compatible = "mmio-sram"; reg = <{cells(base, above)} '
    text += f"{cells(size, buses[-1][1])}>; }};" + " };" * len(buses)
    with tempfile.TemporaryDirectory() as folder:
        found = load(f"/dts-v1/;\n/ {{ {text} }};\n", folder)
        tree = DT(str(Path(folder) / "x.dts"))
    (node,) = (node for node in tree.node_iter() if node.name == "m@0")
    (only,) = found.ranges
    assert (only.base, only.size) == (edtlib._translate(base, node), size)
    assert bool(found.assumed) == any(ranges == "none" for _, _, ranges in buses)


def test_nodes_of_one_name_are_all_there(tmp_path: Path) -> None:
    bus = '{ %s ranges; m@0 { device_type = "memory"; reg = <%d 16>; }; };'
    buses = " ".join(f"b{n} " + bus % (CELLS, 16 * n) for n in range(3))
    found = load(f"/dts-v1/; / {{ {CELLS} {buses} m@0_1 {{ reg = <0x100 1>; }}; }};", tmp_path)
    assert [(r.name, r.base) for r in found.ranges] == [
        ("m@0", 0),
        ("m@0_2", 16),
        ("m@0_3", 32),
        ("m@0_1", 0x100),
    ]


def test_what_is_chosen_for_code_and_data_is_writable(tmp_path: Path) -> None:
    chosen = "chosen { zephyr,flash = &ram; zephyr,sram = &ram; };"
    text = f"/dts-v1/; / {{ {CELLS} {chosen} ram: x@0 {{ reg = <0 16 32 0>; }}; }};"
    found = load(text, tmp_path)
    (only,) = found.ranges
    assert (only.kind, only.writable, only.executable) == (RegionKind.MEMORY, True, True)
    assert [one.text for one in found.left_out] == ["ram at 0x20: of no size"]


def test_a_small_memory_at_the_beginning_is_no_offset(tmp_path: Path) -> None:
    flash = 'f@0 { compatible = "soc-nv-flash"; reg = <0 0x1000>; };'
    text = f"/dts-v1/; / {{ {CELLS} c@8000 {{ {CELLS} reg = <0x8000 0x1000>; {flash} }}; }};"
    found = load(text, tmp_path)
    assert [(r.name, r.base, r.size) for r in found.ranges] == [
        ("f@0", 0, 0x1000),
        ("c@8000", 0x8000, 0x1000),
    ]


def test_the_last_address_can_be_used(tmp_path: Path) -> None:
    found = load(f"/dts-v1/; / {{ {CELLS} a {{ reg = <0xfffff000 0x1000>; }}; }};", tmp_path)
    assert [(r.base, r.size) for r in found.ranges] == [(0xFFFFF000, 0x1000)]


def test_a_chosen_memory_that_has_no_address_says_its_role(tmp_path: Path) -> None:
    """As boards have that execute from a serial flash: its address is not in the tree."""
    text = ZEPHYR.replace("zephyr,flash = &flash0", "zephyr,flash = &nor")
    assert any(one.text.startswith("nor (zephyr,flash): ") for one in load(text, tmp_path).left_out)


@pytest.mark.parametrize(
    ("frequency", "hertz"),
    [("<72000000>", 72_000_000), ("<2 3>", (2 << 32) + 3), ("/bits/ 64 <5000000000>", 5 * 10**9)],
)
def test_a_clock_of_32_or_64_bits(tmp_path: Path, frequency: str, hertz: int) -> None:
    cpu = f"cpus {{ cpu@0 {{ clock-frequency = {frequency}; }}; }};"
    assert load(f"/dts-v1/; / {{ {cpu} }};", tmp_path).clock_hz == hertz


def test_a_clock_that_is_to_be_filled_in_is_none(tmp_path: Path) -> None:
    found = load("/dts-v1/; / { cpus { cpu@0 { clock-frequency = <0>; }; }; };", tmp_path)
    assert found.clock_hz is None
    assert [one.text for one in found.left_out] == [
        "clock-frequency of /cpus/cpu@0: 0 Hz says none"
    ]


def test_what_only_looks_like_an_include_is_read(tmp_path: Path) -> None:
    text = """\
/dts-v1/;
/* #include <a.dtsi>
#include "b.dtsi" */
// /include/ "c"
# 1 "board.dts"
/ { model = "/include/ \\"d\\" and /incbin/(\\"e\\")"; };
"""
    assert not load(text, tmp_path).ranges


HEAD = "/dts-v1/;\n/ {\n"
SYNTAX = [
    ("nothing\n", "1:1: is no devicetree source from here on"),
    (HEAD + "\ta = <1 ;\n};\n", "3:9: is no devicetree source from here on"),
    (HEAD + '\ts = "a\nb";\n\tx = < };\n', "5:8: is no devicetree source from here on"),
    (HEAD + '# 12 "other.c"\n\ta = <08>;\n};\n', "4:6: cannot be evaluated"),
    (HEAD + "\ta = <(1 / 0)>;\n};\n", "3:12: division by zero"),
    (HEAD + "\ta = <" + "(" * 5000 + "1", "3:"),
    (HEAD + "\ta = <&b>;\n};\n", "3:7: /: undefined node label 'b'"),
    (HEAD + "\ta = &{/b};\n};\n", "3:6: /: component 'b' in path '/b' does not exist"),
    (HEAD + "\n\ta: b { };\n a: c { };\n};\n", "4:5: Label 'a' appears on /b and on /c"),
    (HEAD + "\tb {\n phandle = <1 2>; };\n};\n", "3:2: /b: bad phandle length"),
    ("/dts-v1/;\n#include <x.h>\n/ { };\n", "2:1: is not preprocessed: #include"),
    (HEAD + "#ifdef X\n\ta;\n#endif\n};\n", "3:8: is not preprocessed: #ifdef"),
    (HEAD + '/include/ "y"\n};\n', "3:1: includes another file, y"),
    (HEAD + '\ta = /incbin/("/etc/passwd");\n};\n', "3:28: includes another file, /etc/passwd"),
]
MEANING = [
    (HEAD + "\ta = <(1 << (9 * 9999999999))>;\n};\n", "3:29: shifts by 89999999991 bits"),
    (HEAD + "\ta = <(1 << (-1))>;\n};\n", "3:17: cannot be evaluated: negative shift count"),
    (HEAD + "\taliases {\n\t\tx = <1>; };\n};\n", "4:3: expected property 'x' on /aliases to be"),
    (
        HEAD + '\t#address-cells = "x"; a@0 { reg = <1>; };\n};\n',
        "3:2: `#address-cells` of / is no",
    ),
    (HEAD + "\tb { reg = <0 1 1>;\n compatible = <1>; };\n};\n", "4:2: `compatible` of /b is no"),
    (HEAD + "\tb { reg = <0 1 1>; status; };\n};\n", "3:2: `status` of /b is no text"),
    (HEAD + "\tb { reg = <0 1 1 2>; };\n};\n", "3:6: `reg` of /b does not fit"),
    (HEAD + '\tb { reg = "abcdefghijk"; };\n};\n', "3:6: `reg` of /b does not fit"),
    (HEAD + "\tb { reg; };\n};\n", "3:2: `reg` of /b is empty"),
    (
        HEAD + f"\t{CELLS}\n\tb {{ reg = <0xfffff000 0x1001>; }};\n}};\n",
        "4:6: `reg` of /b: 0x1001 bytes from 0xfffff000 on go past the last address",
    ),
    (
        HEAD + f"\t{CELLS}\n\tb {{ {CELLS} ranges = <0 0xfffff000 0x2000>;\n"
        "\t\tc { reg = <0x800 0x1000>; }; };\n};\n",
        "5:7: `reg` of /b/c: 0x1000 bytes from 0xfffff800 on go past the last address",
    ),
    (
        HEAD + f"\t#address-cells = <2>;\n\tb {{ {CELLS} ranges;\n"
        "\t\tc { reg = <0xffffffff 2>; }; };\n};\n",
        "5:7: `reg` of /b/c: 0x2 bytes from 0xffffffff on go past the last address",
    ),
    (
        HEAD + f"\t{CELLS}\n\tb {{ {CELLS} ranges = <0 0>;\n c {{ reg = <0 1>; }}; }};\n}};\n",
        "4:47: `ranges` of /b does not fit",
    ),
    (HEAD + "\tchosen { zephyr,sram = <1>; };\n};\n", "3:11: `zephyr,sram` of /chosen names no"),
    (
        HEAD + "\tcpus { cpu@0 {\n clock-frequency = <1 2 3>; }; };\n};\n",
        "4:2: `clock-frequency` of /cpus/cpu@0 is no frequency",
    ),
    (
        HEAD + '\tcpus { cpu@0 {\n clock-frequency = "abc"; }; };\n};\n',
        "4:2: `clock-frequency` of /cpus/cpu@0 is no frequency",
    ),
    ("/dts-v1/;\n/ { };\n/delete-node/ &{/};\n", "3:15: asks for a root node that is not there"),
    (HEAD + "a {\n" * 60 + "};" * 61, "35:1: more than 32 nodes lie in each other"),
]


@pytest.mark.parametrize(("text", "message"), SYNTAX + MEANING)
def test_what_is_refused_has_a_place_and_a_next_step(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(text, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path}/x.dts:{message}"), said
    assert re.search(r"\.dts:\d+:\d+: ", said)
    assert "\n  expected: " in said
    assert "\n  next: " in said
    assert "checked.dts" not in said
    assert " in  " not in said


@needs_dtc
@pytest.mark.parametrize(
    "text", [text for text, message in SYNTAX if "includes" not in message and "(((" not in text]
)
def test_dtc_refuses_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.dts"
    path.write_text(text)
    assert subprocess.run(["dtc", "-o", "/dev/null", path], capture_output=True).returncode


BETWEEN = st.lists(
    st.sampled_from([" ", "\n", "\t", "/* a\n#include b */", "// c\n", "\r\n"]), max_size=6
).map("".join)


@settings(max_examples=60, deadline=None)
@given(BETWEEN, BETWEEN, BETWEEN)
def test_the_place_is_that_of_the_name(before: str, between: str, after: str) -> None:
    """Counted here, whatever stands around it."""
    start = f"/dts-v1/;{before}/ {{ x;{between}b {{ y = <1>;{after}"
    text = f"{start}reg = <1 2>; }}; }};"
    lines = start.replace("\r\n", "\n").split("\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.dts"
        path.write_bytes(text.encode())
        with pytest.raises(InputError) as caught:
            load_devicetree(path)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column) == (len(lines), len(lines[-1]) + 1)


TOKENS = st.sampled_from(
    [
        *("/dts-v1/;", "/", "{", "}", ";", "<", ">", "=", "(", ")", "[", "]", "<<", "-", "&"),
        *("a", "b@1", "a:", "reg", "ranges", "#size-cells", "08", "0a", "1", "64", '"x"', "&a"),
        *("&{/a}", "/delete-node/", "/delete-property/", "/omit-if-no-ref/", "/bits/"),
        *("/include/", "#include"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TOKENS, max_size=30), st.booleans())
def test_nothing_but_input_errors_comes_of_any_text(tokens: list[str], headed: bool) -> None:
    text = ("/dts-v1/; / { " if headed else "") + " ".join(tokens)
    refused = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            load(text, folder)
        except InputError as error:
            refused.append(error)
    for error in refused:
        assert error.where is not None
        assert error.where.column is not None
        assert error.expected
        assert error.hint
