"""Path models for the tests of worst paths: two by hand, and random structured ones of any size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import Blocking, Place, Word
from wcetchar.model.expression import Number
from wcetchar.model.path_model import (
    OUTSIDE,
    Flow,
    FlowConstraint,
    Gap,
    Origin,
    PathEdge,
    PathModel,
    PathNode,
)
from wcetchar.report.paths_view import PathView

MASKED = Blocking(interrupts=True)


@dataclass
class Builder:
    """Collects nodes and edges; ``flow`` counts are given with the edges."""

    service: str = "svc"
    nodes: list[PathNode] = field(default_factory=list)
    costs: list[Fraction] = field(default_factory=list)
    edges: list[PathEdge] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    sources: dict[tuple[str, int], str] = field(default_factory=dict)

    def node(
        self,
        function: str,
        line: int,
        cost: int | Fraction = 10,
        *,
        offset: int | None = None,
        text: str = "",
        seen: bool = True,
        file: str = "a.c",
        end: int = 0,
        masked: bool = False,
    ) -> int:
        begin = Place(function, line if offset is None else offset, file, line)
        last = Place(function, begin.offset + 2, file, end or line)
        self.nodes.append(PathNode(0, int(masked), begin, last, seen))
        self.costs.append(Fraction(cost))
        if text:
            self.sources[file, line] = text
        return len(self.nodes) - 1

    def edge(self, source: int, target: int, count: int = 0, seen: bool = True) -> int:
        self.edges.append(PathEdge(source, target, seen))
        if count:
            self.counts[len(self.edges) - 1] = count
        return len(self.edges) - 1

    def view(
        self,
        constraints: Sequence[FlowConstraint] = (),
        gaps: Sequence[Gap] = (),
        flow: bool = True,
        beside: Fraction = Fraction(0),
        **other: object,
    ) -> PathView:
        model = PathModel(
            self.service,
            (AccessVector(),),
            (Blocking(), MASKED),
            tuple(self.nodes),
            tuple(self.edges),
            tuple(constraints),
            tuple(gaps),
        )
        given: dict[str, object] = {
            "profile": "example-m3",
            "section_map": "flash-sram",
            "parameters": {"N": 5},
            "word": Word.ESTIMATE if gaps else Word.BOUND,
            "bound_ns": price(self) + beside if flow else None,
        }
        given.update(other)
        return PathView(
            service=self.service,
            model=model,
            node_costs=self.costs,
            flow=Flow({"N": 5}, self.counts) if flow else None,
            sources=self.sources,
            **given,  # type: ignore[arg-type]
        )


def price(built: Builder) -> Fraction:
    total = Fraction(0)
    for number, count in built.counts.items():
        target = built.edges[number].target
        if target != OUTSIDE:
            total += count * built.costs[target]
    return total


def small() -> Builder:
    """A branch that no trace took, a loop of its own block, and a callee.

    f: 1 -> 2 (g: 11) -> 3 (three times) -> 5; 1 -> 4 -> 5 is the cheaper side; 1 -> 2 is unseen.
    """
    b = Builder("f")
    one = b.node("f", 1, 10, offset=0, text="int f(int n) {")
    two = b.node("f", 2, 20, text="if (n > limit) g();", seen=False)
    g = b.node("g", 11, 5, offset=0, text="void g(void) { ticks++; }", seen=False)
    three = b.node("f", 3, 7, text="while (n--) work(n);", seen=False)
    four = b.node("f", 4, 1, text="else cheap();")
    five = b.node("f", 5, 2, text="return n; }")
    b.edge(OUTSIDE, one, 1)
    b.edge(one, two, 1, seen=False)
    b.edge(two, g, 1, seen=False)
    b.edge(g, three, 1, seen=False)
    b.edge(three, three, 2, seen=False)
    b.edge(three, five, 1, seen=False)
    b.edge(one, four)
    b.edge(four, five)
    b.edge(five, OUTSIDE, 1)
    return b


def malloc(free: int = 13) -> Builder:
    """As pvPortMalloc of FreeRTOS's heap_4: two loops, four functions, masked parts."""
    b = Builder("pvPortMalloc")
    n: dict[str, int] = {}

    def add(name: str, function: str, line: int, cost: int, text: str, **other: object) -> None:
        files = {"pvPortMalloc": "heap_4.c", "prvInsertBlockIntoFreeList": "heap_4.c"}
        n[name] = b.node(
            function, line, cost, text=text, file=files.get(function, "tasks.c"), **other
        )

    m, ins, resume = "pvPortMalloc", "prvInsertBlockIntoFreeList", "xTaskResumeAll"
    add("entry", m, 182, 84, "void * pvPortMalloc( size_t xWantedSize ) {", offset=0, end=189)
    add("susp", "vTaskSuspendAll", 2150, 36, "++uxSchedulerSuspended;", offset=0, end=2160)
    add("init?", m, 193, 28, "if( pxEnd == NULL )")
    add("init", m, 195, 240, "prvHeapInit();", seen=False)
    add("align?", m, 202, 20, "if( ( xWantedSize & heapBLOCK_ALLOCATED_BITMASK ) == 0 )")
    add("align", m, 208, 44, "xWantedSize += xHeapStructSize;", end=216)
    add("fits?", m, 236, 32, "if( ( xWantedSize > 0 ) && ( xWantedSize <= xFreeBytesRemaining ) )")
    add(
        "first", m, 240, 40, "pxPreviousBlock = &xStart; pxBlock = xStart.pxNextFreeBlock;", end=241
    )
    add(
        "head",
        m,
        243,
        36,
        "while( ( pxBlock->xBlockSize < xWantedSize ) && ( pxBlock->pxNextFreeBlock != NULL ) )",
    )
    add(
        "body",
        m,
        245,
        44,
        "pxPreviousBlock = pxBlock; pxBlock = pxBlock->pxNextFreeBlock;",
        end=246,
    )
    add("found?", m, 251, 16, "if( pxBlock != pxEnd )")
    add(
        "take",
        m,
        255,
        92,
        "pvReturn = ( ( uint8_t * ) pxPreviousBlock->pxNextFreeBlock ) + xHeapStructSize;",
        end=259,
    )
    add(
        "split?", m, 263, 24, "if( ( pxBlock->xBlockSize - xWantedSize ) > heapMINIMUM_BLOCK_SIZE )"
    )
    add(
        "split",
        m,
        269,
        70,
        "pxNewBlockLink = ( void * ) ( ( ( uint8_t * ) pxBlock ) + xWantedSize );",
        end=275,
    )
    add(
        "i0",
        ins,
        388,
        30,
        "static void prvInsertBlockIntoFreeList( BlockLink_t * pxBlockToInsert ) {",
        offset=0,
    )
    add(
        "ihead",
        ins,
        395,
        24,
        "for( pxIterator = &xStart; pxIterator->pxNextFreeBlock < pxBlockToInsert; )",
    )
    add("ibody", ins, 397, 16, "pxIterator = pxIterator->pxNextFreeBlock;")
    add(
        "merge?",
        ins,
        403,
        36,
        "if( ( puc + pxIterator->xBlockSize ) == ( uint8_t * ) pxBlockToInsert )",
    )
    add(
        "merge",
        ins,
        405,
        28,
        "pxIterator->xBlockSize += pxBlockToInsert->xBlockSize;",
        seen=False,
        end=406,
    )
    add(
        "after?",
        ins,
        416,
        36,
        "if( ( puc + pxBlockToInsert->xBlockSize ) == ( uint8_t * ) pxIterator->pxNextFreeBlock )",
    )
    add(
        "after",
        ins,
        421,
        44,
        "pxBlockToInsert->xBlockSize += pxIterator->pxNextFreeBlock->xBlockSize;",
        seen=False,
        end=422,
    )
    add(
        "link",
        ins,
        432,
        16,
        "pxBlockToInsert->pxNextFreeBlock = pxIterator->pxNextFreeBlock;",
        end=445,
    )
    add("count", m, 284, 96, "xFreeBytesRemaining -= pxBlock->xBlockSize;", end=299)
    add("none", m, 305, 8, "mtCOVERAGE_TEST_MARKER();")
    add("trace", m, 318, 12, "traceMALLOC( pvReturn, xWantedSize );")
    add(
        "r0",
        resume,
        2240,
        60,
        "BaseType_t xTaskResumeAll( void ) { taskENTER_CRITICAL();",
        offset=0,
    )
    add("r1", resume, 2258, 40, "--uxSchedulerSuspended;", masked=True)
    add("r2", resume, 2262, 24, "if( uxCurrentNumberOfTasks > ( UBaseType_t ) 0U )", masked=True)
    add(
        "r3",
        resume,
        2330,
        48,
        "taskEXIT_CRITICAL(); return xAlreadyYielded; }",
        masked=True,
        end=2334,
    )
    add("failed?", m, 324, 20, "if( pvReturn == NULL )")
    add("hook", m, 326, 14, "vApplicationMallocFailedHook();", seen=False)
    add("return", m, 335, 40, "return pvReturn; }", end=336)

    def go(a: str, z: str, count: int = 0, seen: bool = True) -> None:
        b.edge(n[a] if a else OUTSIDE, n[z] if z else OUTSIDE, count, seen)

    k = free
    for a, z, count, seen in (
        ("", "entry", 1, True),
        ("entry", "susp", 1, True),
        ("susp", "init?", 1, True),
        ("init?", "init", 1, False),
        ("init", "align?", 1, False),
        ("init?", "align?", 0, True),
        ("align?", "align", 1, True),
        ("align?", "none", 0, False),
        ("align", "fits?", 1, True),
        ("fits?", "first", 1, True),
        ("fits?", "none", 0, True),
        ("first", "head", 1, True),
        ("head", "body", k - 1, True),
        ("body", "head", k - 1, True),
        ("head", "found?", 1, True),
        ("found?", "take", 1, True),
        ("found?", "none", 0, True),
        ("take", "split?", 1, True),
        ("split?", "split", 1, True),
        ("split?", "count", 0, True),
        ("split", "i0", 1, True),
        ("i0", "ihead", 1, True),
        ("ihead", "ibody", k, True),
        ("ibody", "ihead", k, True),
        ("ihead", "merge?", 1, True),
        ("merge?", "merge", 1, False),
        ("merge?", "after?", 0, True),
        ("merge", "after?", 1, False),
        ("after?", "after", 1, False),
        ("after?", "link", 0, True),
        ("after", "link", 1, False),
        ("link", "count", 1, True),
        ("count", "trace", 1, True),
        ("none", "trace", 0, True),
        ("trace", "r0", 1, True),
        ("r0", "r1", 1, True),
        ("r1", "r2", 1, True),
        ("r2", "r3", 1, True),
        ("r3", "failed?", 1, True),
        ("failed?", "hook", 0, False),
        ("failed?", "return", 1, True),
        ("hook", "return", 0, False),
        ("return", "", 1, True),
    ):
        go(a, z, count, seen)
    return b


MALLOC_FACTS = (
    FlowConstraint(
        "loop at heap_4.c:243 in pvPortMalloc",
        {12: Number(1)},
        Number(12),
        Origin.WRITTEN,
        "the free list has at most N blocks",
        "freertos.ff:14",
    ),
    FlowConstraint(
        "loop at heap_4.c:395 in prvInsertBlockIntoFreeList",
        {22: Number(1)},
        Number(13),
        Origin.OBSERVED,
        "",
        "freertos.ff:19",
    ),
    FlowConstraint("loop at queue.c:88 in memcpy", {22: Number(1)}, Number(400), Origin.AUTOMATIC),
)


class _Grown:
    """A random structured program: sequences, branches, loops, early returns and calls."""

    def __init__(self, seed: int, nodes: int, functions: int, flat: bool) -> None:
        self.flat = flat
        self.b = Builder(f"random{seed}")
        self.random = random.Random(seed)
        self.left = nodes
        self.functions = functions
        self.line = 10
        self.returns: list[tuple[int, int]] = []

    def build(self) -> Builder:
        start, ends = self.function(0, 1, True)
        self.b.edge(OUTSIDE, start, 1)
        for end, count in ends:
            self.b.edge(end, OUTSIDE, count)
        return self.b

    def block(self, name: str, seen: bool, offset: int | None = None) -> int:
        self.left -= 1
        self.line += self.random.randrange(1, 4)
        words = [
            "pxList",
            "uxPriority",
            "xTicksToWait",
            "configASSERT",
            "pxTCB->xState",
            "->",
            "=",
            "&",
            "( void )",
            "uxTopReadyPriority",
            "listGET_OWNER",
        ]
        text = " ".join(self.random.choices(words, k=self.random.randrange(2, 9))) + ";"
        return self.b.node(
            name,
            self.line,
            self.random.randrange(4, 120),
            offset=offset,
            text=text,
            seen=seen,
            file=f"{name[:5]}.c",
        )

    def function(self, depth: int, count: int, seen: bool) -> tuple[int, list[tuple[int, int]]]:
        name = (
            "service" if depth == 0 else f"xFunction{self.random.randrange(self.functions)}D{depth}"
        )
        first = self.block(name, seen, offset=0)
        outer, self.returns = self.returns, []
        budget = self.left if depth == 0 else self.random.randrange(2, 14)
        ends = self.body(name, depth, [(first, count)], count, budget, seen)
        found = ends + self.returns
        self.returns = outer
        return first, found

    def lead(self, ends: list[tuple[int, int]], target: int, seen: bool) -> int:
        for end, count in ends:
            self.b.edge(end, target, count, seen and self.b.nodes[end].seen)
        return sum(count for _, count in ends)

    def body(
        self,
        name: str,
        depth: int,
        ends: list[tuple[int, int]],
        count: int,
        budget: int,
        seen: bool,
        nested: int = 0,
    ) -> list[tuple[int, int]]:
        stop = self.left - budget
        while self.left > max(stop, 0):
            kind = self.random.random()
            if kind < 0.35 or nested > 4:
                node = self.block(name, seen)
                passed = self.lead(ends, node, seen)
                ends = [(node, passed)]
            elif kind < 0.6:
                test = self.block(name, seen)
                passed = self.lead(ends, test, seen)
                hot = self.random.random() < 0.7
                new = seen and self.random.random() < 0.8
                then = self.body(
                    name,
                    depth,
                    [(test, passed if hot else 0)],
                    0,
                    self.random.randrange(1, 7),
                    new,
                    nested + 1,
                )
                ends = [*then, (test, 0 if hot else passed)]
                if self.random.random() < 0.15:
                    out = self.block(name, False)
                    self.b.edge(test, out, 0, False)
                    self.returns.append((out, 0))
            elif kind < 0.75:
                head = self.block(name, seen)
                passed = self.lead(ends, head, seen)
                times = self.random.randrange(1, 12) * (1 if passed else 0)
                inner = self.body(
                    name,
                    depth,
                    [(head, passed * times)],
                    0,
                    self.random.randrange(1, 7),
                    seen,
                    nested + 1,
                )
                for end, number in inner:
                    self.b.edge(end, head, number, seen and self.b.nodes[end].seen)
                ends = [(head, passed)]
            elif depth < 5 and not self.flat:
                call = self.block(name, seen)
                passed = self.lead(ends, call, seen)
                first, back = self.function(depth + 1, passed, seen)
                self.b.edge(call, first, passed, seen)
                node = self.block(name, seen)
                passed = self.lead(back, node, seen)
                ends = [(node, passed)]
            else:
                node = self.block(name, seen)
                ends = [(node, self.lead(ends, node, seen))]
        return ends


def grown(seed: int, nodes: int, functions: int = 12, flat: bool = False) -> Builder:
    """``flat``: one function."""
    return _Grown(seed, nodes, functions, flat).build()
