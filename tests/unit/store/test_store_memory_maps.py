"""Memory maps of devicetree and CMSIS-SVD files: expected values by hand, and against fdtget."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from wcetchar.model.hardware import RegionKind
from wcetchar.store.devicetree import load_devicetree
from wcetchar.store.svd import load_svd

DTS = """\
/dts-v1/;
/ {
	#address-cells = <1>;
	#size-cells = <1>;
	cpus {
		#address-cells = <1>;
		#size-cells = <0>;
		cpu@0 { reg = <0>; clock-frequency = <72000000>; };
	};
	sram0: memory@20000000 { device_type = "memory"; reg = <0x20000000 0x8000>; };
	soc {
		#address-cells = <1>;
		#size-cells = <1>;
		ranges = <0x0 0x40000000 0x100000>;
		uart0: serial@1000 { compatible = "ns16550"; reg = <0x1000 0x100 0x3000 0x10>; };
		off: timer@2000 { reg = <0x2000 0x100>; status = "disabled"; };
		far: timer@900000 { reg = <0x900000 0x100>; };
		bus@80000 {
			#address-cells = <2>;
			#size-cells = <1>;
			ranges = <0 0 0x80000 0x1000>;
			gpio0: gpio@10 { reg = <0 0x10 0x20>; };
		};
		i2c@5000 {
			#address-cells = <1>;
			#size-cells = <0>;
			reg = <0x5000 0x100>;
			sensor: sensor@48 { reg = <0x48>; };
		};
	};
	flash-controller@50000000 {
		#address-cells = <1>;
		#size-cells = <1>;
		reg = <0x50000000 0x400>;
		ranges;
		flash0: flash@8000000 {
			compatible = "soc-nv-flash";
			reg = <0x8000000 0x20000>;
			partitions {
				compatible = "fixed-partitions";
				#address-cells = <1>;
				#size-cells = <1>;
				boot@0 { reg = <0 0x1000>; };
			};
		};
	};
};
"""

SVD = """\
<?xml version="1.0"?>
<device>
  <name>X</name><width>32</width>
  <peripherals>
    <peripheral>
      <name>TIM1</name><description>A  timer
      of its own</description><baseAddress>0x40000000</baseAddress>
      <addressBlock><offset>0x0</offset><size>0x400</size></addressBlock>
      <addressBlock><offset>0x800</offset><size>1k</size></addressBlock>
    </peripheral>
    <peripheral derivedFrom="TIM1"><name>TIM2</name>
      <baseAddress>0x40002000</baseAddress></peripheral>
    <peripheral><name>TIM1_alternate</name><baseAddress>0x40000000</baseAddress>
      <addressBlock><offset>0</offset><size>0x400</size></addressBlock></peripheral>
    <peripheral><name>UART%s</name><dim>2</dim><dimIncrement>0x100</dimIncrement>
      <dimIndex>A,B</dimIndex><baseAddress>#1010000</baseAddress>
      <addressBlock><offset>0</offset><size>16</size></addressBlock></peripheral>
    <peripheral><name>NONE</name><baseAddress>0x9000</baseAddress></peripheral>
  </peripherals>
</device>
"""


def _write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_devicetree(tmp_path: Path) -> None:
    found = load_devicetree(_write(tmp_path, "x.dts", DTS))
    assert found.clock_hz == 72_000_000
    assert [(r.name, r.base, r.size, r.kind, r.writable, r.executable) for r in found.ranges] == [
        ("flash0", 0x8000000, 0x20000, RegionKind.MEMORY, False, True),
        ("sram0", 0x20000000, 0x8000, RegionKind.MEMORY, True, True),
        ("uart0", 0x40001000, 0x100, RegionKind.PERIPHERAL, True, False),
        ("uart0_1", 0x40003000, 0x10, RegionKind.PERIPHERAL, True, False),
        ("i2c@5000", 0x40005000, 0x100, RegionKind.PERIPHERAL, True, False),
        ("gpio0", 0x40080010, 0x20, RegionKind.PERIPHERAL, True, False),
        ("flash-controller@50000000", 0x50000000, 0x400, RegionKind.PERIPHERAL, True, False),
    ]
    assert [(one.text, one.addresses) for one in found.left_out] == [
        ("off: status disabled", ()),
        ("far: outside what `ranges` of /soc maps", ()),
        ("sensor: /soc/i2c@5000 has no sizes: its addresses are no memory's", ()),
    ]
    assert not found.assumed


@pytest.mark.skipif(not shutil.which("fdtget"), reason="needs fdtget (device-tree-compiler)")
def test_the_numbers_are_those_that_fdtget_reads(tmp_path: Path) -> None:
    source = _write(tmp_path, "x.dts", DTS)
    blob = tmp_path / "x.dtb"
    subprocess.run(["dtc", "-q", "-O", "dtb", "-o", blob, source], check=True)
    found = {r.name: r for r in load_devicetree(source).ranges}
    nodes = {"sram0": "/memory@20000000", "flash0": "/flash-controller@50000000/flash@8000000"}
    for name, node in nodes.items():
        words = subprocess.run(
            ["fdtget", "-t", "x", blob, node, "reg"], check=True, capture_output=True, text=True
        ).stdout.split()
        assert (found[name].base, found[name].size) == tuple(int(word, 16) for word in words)
    # What dtc prints of the compiled tree is read as the same map, but for the labels it drops.
    again = subprocess.run(
        ["dtc", "-q", "-I", "dtb", "-O", "dts", blob], check=True, capture_output=True, text=True
    ).stdout
    ranges = load_devicetree(_write(tmp_path, "again.dts", again)).ranges
    assert [(r.base, r.size) for r in ranges] == [(r.base, r.size) for r in found.values()]


def test_an_svd_file(tmp_path: Path) -> None:
    found = load_svd(_write(tmp_path, "x.svd", SVD))
    assert [(r.name, r.base, r.size) for r in found.ranges] == [
        ("UARTA", 0x50, 16),
        ("UARTB", 0x150, 16),
        ("TIM1", 0x40000000, 0x400),
        ("TIM1_1", 0x40000800, 1024),
        ("TIM2", 0x40002000, 0x400),
        ("TIM2_1", 0x40002800, 1024),
    ]
    assert found.ranges[2].source == "A timer of its own"
    assert found.bus_width == 32
    assert [(one.text, one.addresses) for one in found.left_out] == [
        ("NONE: without an address block", ((0x9000, 1),)),
        ("TIM1_alternate at 0x40000000: shares addresses with TIM1", ((0x40000000, 0x400),)),
    ]
