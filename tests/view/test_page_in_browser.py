# SPDX-License-Identifier: Apache-2.0
"""What a page shows in headless Chromium: its state, its pixels, keys and frames."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import hemiola as hm
from browser import Browser, needed
from hemiola.workload import transformer
from job_records import killed_job
from measured_like import measured_like

pytestmark = needed
SWITCH = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    window = Browser(tmp_path_factory.mktemp("profile"))
    yield window
    window.close()


@pytest.fixture
def late(browser: Browser, tmp_path: Path) -> Browser:
    """A ring of four ranks of which rank 2 comes 2 ms late."""
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), SWITCH, 1 << 20, hm.Conditions(late={2: 2e-3}))
    browser.open(hm.explore(timeline, tmp_path / "late.html", title="ring"))
    return browser


def near(colour: tuple[int, int, int, int], hexadecimal: str, tolerance: int = 40) -> bool:
    wanted = [int(hexadecimal[i : i + 2], 16) for i in (1, 3, 5)]
    return colour[3] > 100 and all(abs(a - b) <= tolerance for a, b in zip(colour, wanted, strict=False))


def test_a_page_asks_for_itself_alone(late: Browser) -> None:
    assert [url.rsplit("/", 1)[1] for url in late.requests] == ["late.html"]
    assert late.errors == []
    assert late.ask("document.title") == "all_reduce: ring – Hemiola"


def test_the_title_lines_say_who_is_late_and_how_far_the_bound_is(late: Browser) -> None:
    assert "rank 2 is late by 2 ms" in late.ask("document.getElementById('subtitle').textContent")
    assert "times the lower bound" in late.ask("document.getElementById('result').textContent")


def test_ranks_wait_for_the_late_one(late: Browser) -> None:
    # Given: rank 3 is after rank 2 in the ring. Expect: its first wait ends after 2 ms, and is for rank 2.
    waits = late.ask("h.subject.waits.filter(w => w.rank === 3)")
    assert (waits[0]["for"], waits[0]["root"]) == (2, 2)
    assert waits[0]["end"] > 2e-3
    # Rank 0 has rank 3's first message at once; the second waits for rank 2.
    second = late.ask("h.subject.waits.filter(w => w.rank === 0)")[1]
    assert (second["for"], second["root"]) == (3, 2)
    assert not late.ask("h.subject.waits.some(w => w.rank === 2 && w.begin < 2e-3 - 1e-6)")
    late.ask("(h.seek(1e-3), h.select(0), 0)")
    said = late.ask("document.getElementById('say').textContent")
    assert "rank 0 waits for rank 3" in said
    assert "rank 2 holds it up" in said
    assert "Held up by" in late.ask("document.getElementById('facts').textContent")


def test_a_chunk_s_journey_visits_all_ranks(late: Browser) -> None:
    hops = late.ask("h.subject.journey(1)")
    assert [hop["reduce"] for hop in hops] == [True] * 3 + [False] * 3
    assert all(before["to"] == after["from"] for before, after in pairwise(hops))
    late.ask("(h.subject.chooseChunk(1), 0)")
    assert "Journey of chunk 1: 6 hops" in late.ask("document.getElementById('facts').textContent")
    late.ask("(h.subject.chooseChunk(9), 0)")
    assert late.ask("h.state.chunk") is None


def test_bars_stand_where_the_simulation_puts_them(late: Browser) -> None:
    colours = late.ask("h.colour()")
    i = late.ask("h.subject.moves.src.indexOf(1)")
    begin, leave, reduces = late.ask(
        f"[h.subject.moves.begin[{i}], h.subject.moves.leave[{i}], h.subject.moves.reduce[{i}]]"
    )
    y = late.ask("h.rowTop(1) + h.rowHeight() * .2")
    inside = late.colour("lanes", late.ask(f"h.x({begin} * .7 + {leave} * .3)"), y)
    assert near(inside, colours["reduce" if reduces else "copy"], 80)
    wait = late.ask("h.subject.waits.find(w => w.rank === 1)")
    empty = late.colour("lanes", late.ask(f"h.x({(wait['begin'] + wait['end']) / 2})"), y)
    assert empty[3] == 0
    hatched = [
        late.colour("lanes", late.ask(f"h.x(1e-3) + {k}"), late.ask("h.rowTop(2) + h.rowHeight() / 2"))
        for k in range(8)
    ]
    assert any(near(one, colours["line"]) for one in hatched)


def test_the_bound_is_a_dashed_line(late: Browser) -> None:
    x = late.ask("h.x(h.data.bound)")
    dark = [near(late.colour("lanes", x - 0.5, y), late.ask("h.colour().ink")) for y in range(2, 100)]
    assert 30 < sum(dark) < 80


def test_a_late_rank_is_grey_until_it_comes_and_green_when_done(late: Browser) -> None:
    x, y = late.ask("h.subject.spots()[2]")
    side = x - late.ask("h.subject.radius()") * 0.7
    assert near(late.colour("net", side, y), late.ask("h.colour().absent"))
    late.ask("(h.seek(h.data.length), 0)")
    assert near(late.colour("net", side, y), late.ask("h.colour().good"))


def test_keys_step_zoom_and_choose(late: Browser) -> None:
    late.key("ArrowRight")
    assert late.ask("h.state.time") == pytest.approx(late.ask("h.subject.events[1]"))
    late.key("End")
    assert late.ask("h.state.time") == late.ask("h.data.length")
    late.key("ArrowLeft")
    assert late.ask("h.state.time") == pytest.approx(late.ask("h.subject.events.at(-2)"))
    late.key("+", "+")
    begin, end = late.ask("h.state.view")
    assert end - begin == pytest.approx(0.6 * late.ask("h.data.length"))
    assert begin <= late.ask("h.state.time") <= end
    late.key("0", "0")
    assert late.ask("h.state.view") == [0, late.ask("h.data.length")]
    late.key("ArrowDown")
    assert late.ask("h.state.rank") == 0
    late.key("Escape")
    assert late.ask("h.state.rank") == -1
    late.key("Home")
    late.key(" ", " ")
    assert late.ask("h.state.playing")


def test_play_moves_the_time_until_pause_stops_it(late: Browser) -> None:
    wait = "new Promise(done => setTimeout(done, 300))"
    late.ask("(document.getElementById('play').click(), 0)")
    assert late.ask("document.getElementById('play').textContent") == "pause"
    assert 0 < late.ask(f"({wait}).then(() => h.state.time)") < late.ask("h.data.length")
    assert late.ask("document.getElementById('say').getAttribute('aria-live')") == "off"
    late.ask("(document.getElementById('play').click(), 0)")
    stopped = late.ask("h.state.time")
    assert late.ask(f"({wait}).then(() => h.state.time)") == stopped
    assert late.ask("document.getElementById('say').getAttribute('aria-live')") == "polite"
    late.ask("(h.seek(h.data.length * .99), h.play(), 0)")
    assert late.ask(f"({wait}).then(() => [h.state.playing, h.state.time === h.data.length])") == [
        False,
        True,
    ]


def test_the_slider_and_the_details_seek(late: Browser) -> None:
    late.ask(
        """(s => { s.value = 250; s.dispatchEvent(new Event("input")); })(document.getElementById("seek"))"""
    )
    assert late.ask("h.state.time") == pytest.approx(late.ask("h.data.length") / 4)
    assert late.ask("document.getElementById('seek').getAttribute('aria-valuetext')").endswith(" ms")
    late.ask("h.select(3)")
    late.ask("document.querySelector('#facts button[data-go^=time]').click()")
    assert late.ask("h.state.time") == pytest.approx(
        late.ask("h.subject.waits.find(w => w.rank === 3).begin")
    )


def test_a_busy_link_is_drawn_stronger_than_an_idle_one(browser: Browser, tmp_path: Path) -> None:
    # Given: a chain of three ranks' broadcast of which only the links 0 > 1 and 1 > 2 of a ring are used.
    ring = hm.topologies.ring(3, latency_s=1e-6, bandwidth=1e9)
    browser.open(hm.explore(hm.algorithms.broadcast_chain(3), tmp_path / "x.html", ring, 1 << 20))
    browser.ask("document.getElementById('use').click()")
    strength = []
    for a, b in ((0, 1), (0, 2)):
        x, y = browser.ask(
            f"[0, 1].map(k => h.subject.spots()[{a}][k] * .5 + h.subject.spots()[{b}][k] * .5)"
        )
        strength.append(
            max(browser.colour("ground", x + dx, y + dy)[3] for dx in (-1, 0, 1) for dy in (-1, 0, 1))
        )
    assert strength[0] > 2 * strength[1]
    assert "rank 0 → rank 1" in browser.ask("document.getElementById('facts').textContent")


def test_a_slow_rank_has_a_solid_border_and_is_named(browser: Browser, tmp_path: Path) -> None:
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), SWITCH, 1 << 20, hm.Conditions(slow={1: 2.0}))
    browser.open(hm.explore(timeline, tmp_path / "slow.html"))
    assert "rank 1 (2 times slower)" in browser.ask("document.getElementById('facts').textContent")
    borders = []
    for rank in (1, 3):
        x, y = browser.ask(f"h.subject.spots()[{rank}]")
        radius = browser.ask("h.subject.radius()")
        around = [
            (x + radius * math.cos(a / 8 * math.pi), y + radius * math.sin(a / 8 * math.pi))
            for a in range(16)
        ]
        bad = browser.ask("h.colour().bad")
        borders.append(sum(near(browser.colour("net", *place), bad) for place in around))
    assert borders[0] >= 15
    assert borders[1] == 0


def test_everything_to_touch_has_a_name(late: Browser) -> None:
    tree = late.send("Accessibility.getFullAXTree")["nodes"]
    touched = [
        node
        for node in tree
        if node["role"]["value"] in ("button", "slider", "checkbox", "spinbutton", "img", "combobox")
    ]
    assert len(touched) >= 8
    assert [node for node in touched if not node["name"]["value"]] == []


def test_dark_mode_changes_paper_and_ink(late: Browser) -> None:
    late.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    assert late.ask(f"({frame}).then(() => h.colour().paper)") == "#16181c"
    assert late.ask("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 28)"
    late.send("Emulation.setEmulatedMedia", features=[])


def test_wheel_and_drag_zoom_and_pan(late: Browser) -> None:
    box = late.ask("(b => [b.x, b.y])(document.getElementById('cursor').getBoundingClientRect())")
    x, y = box[0] + 600, box[1] + 60
    middle = late.ask("h.x(0) && 0")
    assert middle == 0
    late.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-100)
    begin, end = late.ask("h.state.view")
    assert end - begin == pytest.approx(0.8 * late.ask("h.data.length"))
    for kind, at in (("mousePressed", x), ("mouseMoved", x + 50), ("mouseReleased", x + 50)):
        late.send("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
    assert late.ask("h.state.view[0]") < begin


def test_no_edge_passes_through_a_foreign_vertex(browser: Browser, tmp_path: Path) -> None:
    torus = hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=1e9)
    browser.open(hm.explore(hm.algorithms.all_gather_ring(16), tmp_path / "torus.html", torus, 1 << 20))
    nearest = browser.ask(
        """h.subject.edges().flatMap(([a, b]) => { const s = h.subject.spots(), m = h.subject.bendOf(a, b);
        return s.flatMap((p, v) => v === a || v === b ? [] :
        Array.from({length: 49}, (_, k) => { const u = (k + 1) / 50;
        return Math.hypot(...[0, 1].map(d => (1-u)*(1-u)*s[a][d] + 2*u*(1-u)*m[d] + u*u*s[b][d] - p[d])); })); })
        .reduce((least, d) => Math.min(least, d), Infinity)"""
    )
    assert nearest > browser.ask("h.subject.radius()")


def test_hosts_fold_above_a_hundred_ranks_and_open(browser: Browser, tmp_path: Path) -> None:
    hosts = hm.topologies.dgx_h100(16)
    browser.open(hm.explore(hm.algorithms.all_gather_ring(128), tmp_path / "x.html", hosts, 1 << 20))
    assert browser.ask("h.rows().length") == 16
    browser.ask("(h.toggleFold(3), 0)")
    assert browser.ask("h.rows().map(r => r.label).slice(2, 5)") == ["host 2", "rank 24", "rank 25"]
    assert browser.ask("h.rows().length") == 23


@pytest.fixture
def both(browser: Browser, tmp_path: Path) -> Browser:
    """A ring of four ranks, and a run of it that took longer."""
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), SWITCH, 1 << 20, hm.Conditions(late={2: 2e-3}))
    browser.open(hm.explore(timeline, tmp_path / "both.html", measured=measured_like(timeline)))
    return browser


def test_a_rank_s_predicted_and_measured_lanes_stand_below_each_other(both: Browser) -> None:
    assert both.ask("h.rows().map(row => row.label)")[:4] == ["rank 0", "measured", "rank 1", "measured"]
    colours = both.ask("h.colour()")
    for run in (0, 1):
        moves = f"h.subject.runs[{run}].moves"
        begin, leave = both.ask(f"['begin', 'leave'].map(of => {moves}[of][{moves}.src.indexOf(1)])")
        y = both.ask(f"h.rowTop({2 + run}) + h.rowHeight() * .2")
        middle = both.ask(f"h.x({begin} * .7 + {leave} * .3)")
        assert near(both.colour("lanes", middle, y), colours["reduce"], 80), run
    said = both.ask("document.getElementById('result').textContent")
    assert "Measured: " in said
    assert "times the prediction" in said


def test_the_shown_run_moves_on_the_topology_and_fills_the_details(both: Browser) -> None:
    assert "Shown: predicted" in both.ask("document.getElementById('facts').textContent")
    told = both.ask("h.subject.doing(0)")
    both.ask(
        """(s => { s.value = 1; s.dispatchEvent(new Event("change")); })(document.getElementById("run"))"""
    )
    assert "Shown: measured" in both.ask("document.getElementById('facts').textContent")
    end = both.ask("h.subject.runs[0].seconds")
    both.ask(f"(h.seek({end} - 1e-9), h.select(0), 0)")
    assert both.ask("h.subject.inFlight()") > 0
    assert both.ask("h.subject.events[1]") == pytest.approx(both.ask("h.subject.runs[1].events[1]"))
    both.ask("(h.subject.chooseRun(0), h.seek(0), 0)")
    assert both.ask("h.subject.doing(0)") == told
    table = both.ask("[...document.querySelectorAll('#facts tr')].map(row => row.textContent)[1]")
    assert table.startswith("rank 0")


def test_a_job_s_page_says_who_failed_first_and_who_was_late(browser: Browser, tmp_path: Path) -> None:
    records = killed_job(tmp_path / "records")
    browser.open(hm.explore(records, tmp_path / "job.html"))
    assert browser.ask("document.getElementById('result').textContent").startswith("Rank 2 failed first")
    happened = browser.ask("[...document.querySelectorAll('#place tr')].map(row => row.textContent)")
    assert "rank 2failed first" in happened[0]
    assert "rank 1noticed it first" in happened[1]
    assert "rank 0100 ms later" in happened[2]
    assert "rank 1came 0.3 s after the median call" in happened[3]
    colours = browser.ask("h.colour()")
    y = browser.ask("h.rowTop(0) + h.rowHeight() / 4")
    assert near(browser.colour("lanes", browser.ask("h.x(0.2)"), y), colours["copy"], 80)
    assert near(browser.colour("lanes", browser.ask("h.x(1.1)"), y), colours["bad"], 80)
    browser.ask("(h.seek(1.1), h.select(0), 0)")
    assert "rank 0 is in all_reduce 2" in browser.ask("document.getElementById('say').textContent")


@pytest.mark.long
def test_a_frame_of_64_ranks_is_drawn_in_half_of_its_time(browser: Browser, tmp_path: Path) -> None:
    # A frame has 16.7 ms. The least of many counts: other programs on this machine cannot make that one shorter.
    hosts = hm.topologies.dgx_h100(8)
    browser.open(hm.explore(hm.algorithms.all_reduce_ring(64), tmp_path / "x.html", hosts, 1 << 28))
    least_ms = browser.ask(
        """Math.min(...Array.from({length: 200}, (_, k) => {
        const from = performance.now(); h.seek(h.data.length * k / 200); return performance.now() - from; }))"""
    )
    assert least_ms < 8


@pytest.fixture
def step(browser: Browser, tmp_path: Path) -> Browser:
    """A step of a small model of which rank 1 comes 1 ms late."""
    model = transformer(4, 512, 128, vocabulary=1000, name="small")
    found = hm.whatif(model, SWITCH, hm.Conditions(late={1: 1e-3}), parallel=hm.Parallel(tp=2))
    browser.open(hm.explore(found, tmp_path / "step.html"))
    return browser


def test_a_step_s_page_says_its_limit_its_libraries_and_its_collectives(step: Browser) -> None:
    assert step.errors == []
    assert step.ask("document.title") == "small: a step, predicted – Hemiola"
    assert "A step takes" in step.ask("document.getElementById('result').textContent")
    above = step.ask("document.getElementById('place').textContent")
    for words in ("all_reduce (dp)", "all_reduce (tp)", "Memory is not modelled", "over bound"):
        assert words in above
    facts = step.ask("document.getElementById('facts').textContent")
    for words in ("nccl-like", "Hemiola saves", "lower bound", "all ranks: compute"):
        assert words in facts


def test_a_step_s_bars_stand_where_the_prediction_puts_them(step: Browser) -> None:
    colours = step.ask("h.colour()")
    for row, name in enumerate(step.ask("h.data.labels")):
        i = step.ask(f"h.subject.tasks.row.indexOf({row})")
        begin, end, kind = step.ask(
            f"[h.subject.tasks.begin[{i}], h.subject.tasks.end[{i}], h.subject.tasks.barKind[{i}]]"
        )
        inside = step.colour(
            "lanes", step.ask(f"h.x({(begin + end) / 2})"), step.ask(f"h.rowTop({row}) + h.rowHeight() * .15")
        )
        assert near(inside, colours[["copy", "reduce", "absent"][kind]], 80), name
    late = step.ask("h.data.labels.indexOf('all ranks, late: compute')")
    step.ask(f"(h.seek(5e-4), h.select({late}), 0)")
    assert "late" in step.ask("document.getElementById('say').textContent")
    assert "tasks in all" in step.ask("document.getElementById('facts').textContent")
    step.ask("(h.select(-1), h.seek(h.data.length), 0)")
    assert "idle" in step.ask("document.getElementById('facts').textContent")
