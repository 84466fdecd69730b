"""The plugin is built on first use, kept, and rebuilt when what it is made of changes."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from wcetchar.capture import build
from wcetchar.capture.compiled import cache_directory
from wcetchar.errors import InputError, ToolMissing


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(build.OVERRIDE, raising=False)
    return tmp_path / "wcetchar"


@pytest.fixture
def compiler():
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")


def test_built_once_and_exported(cache, compiler):
    made = build.plugin_path()
    assert made.parent == cache
    before = made.stat()
    assert build.plugin_path() == made
    assert made.stat() == before
    assert list(cache.iterdir()) == [made]
    names = subprocess.run(["nm", "-D", made], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in names.splitlines() if line.split()[-2] in "TDB"}
    assert exported == {"qemu_plugin_install", "qemu_plugin_version"}


def test_compiles_without_a_warning(cache, compiler, tmp_path):
    done = subprocess.run(
        ["cc", *build.FLAGS, "-Wextra", "-Werror", "-o", tmp_path / "p.so", build.SOURCE],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


READS = "qemu_plugin_scoreboard_new", "qemu_plugin_read_memory_vaddr"
WRITES = (*READS, "qemu_plugin_write_memory_vaddr")


@pytest.mark.parametrize(
    ("has", "stated", "version"),
    [
        ((), None, 1),  # QEMU 6.0 to 8.2
        (READS[:1], None, 2),  # 9.0, 9.1
        (READS, None, 4),  # 9.2, 10.0
        (WRITES, None, 5),  # 10.1, 10.2
        ((*WRITES, "qemu_plugin_set_pc"), "6", 6),  # 11.0
        ((*WRITES, "qemu_plugin_set_pc"), None, 7),  # 11.1
        ((*WRITES, "qemu_plugin_set_pc"), "5", 7),
        (WRITES, "6", 5),
    ],
)
def test_the_version_that_it_states(cache, compiler, tmp_path, has, stated, version):
    """A program in QEMU's place, with the functions that tell its version."""
    source = tmp_path / "qemu.c"
    source.write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\n"
        + "".join(f"void {name}(void) {{}}\n" for name in has)
        + "int main(int argc, char **argv) {\n"
        "void *plugin = dlopen(argv[1], RTLD_LAZY);\n"
        'printf("%d", plugin ? *(int *)dlsym(plugin, "qemu_plugin_version") : -1);\n}\n'
    )
    program = tmp_path / "qemu"
    subprocess.run(["cc", "-rdynamic", "-o", program, source, "-ldl"], check=True)
    done = subprocess.run(
        [program, build.plugin_path()],
        capture_output=True,
        text=True,
        check=True,
        env={} if stated is None else {"WCETCHAR_PLUGIN_API": stated},
    )
    assert int(done.stdout) == version


def test_another_source_is_another_object(cache, compiler, tmp_path, monkeypatch):
    first = build.plugin_path()
    changed = tmp_path / "changed.c"
    changed.write_text(build.SOURCE.read_text() + "\n/* changed */\n")
    monkeypatch.setattr(build, "SOURCE", changed)
    second = build.plugin_path()
    assert second != first
    assert {first, second} == set(cache.iterdir())


def test_no_compiler(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="no C compiler") as caught:
        build.plugin_path()
    assert "apt-get install gcc libc6-dev" in str(caught.value)


def test_source_that_does_not_compile(cache, compiler, tmp_path, monkeypatch):
    broken = tmp_path / "broken.c"
    broken.write_text("int main(void) { return nothing_of_that_name; }\n")
    monkeypatch.setattr(build, "SOURCE", broken)
    with pytest.raises(InputError, match="nothing_of_that_name"):
        build.plugin_path()
    assert list(cache.iterdir()) == []


def test_cache_that_cannot_be_made(compiler, tmp_path, monkeypatch):
    monkeypatch.delenv(build.OVERRIDE, raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="cannot be built"):
        build.plugin_path()


def test_a_relative_cache_home_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory("it") == tmp_path / ".cache" / "wcetchar"


def test_a_named_plugin_is_taken(cache, tmp_path, monkeypatch):
    plugin = tmp_path / "mine.so"
    plugin.write_bytes(b"")
    monkeypatch.setenv(build.OVERRIDE, str(plugin))
    assert build.plugin_path() == plugin
    monkeypatch.setenv(build.OVERRIDE, str(tmp_path / "absent.so"))
    with pytest.raises(InputError, match="names no file"):
        build.plugin_path()


def test_licence_is_with_the_source():
    assert "SPDX-License-Identifier: GPL-2.0-or-later" in build.SOURCE.read_text()
    text = (build.SOURCE.parent / "COPYING").read_text()
    assert "GNU GENERAL PUBLIC LICENSE" in text
    assert "Version 2, June 1991" in text
