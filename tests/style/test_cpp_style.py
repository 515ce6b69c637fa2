# SPDX-License-Identifier: Apache-2.0
"""The core's style, as far as it can be counted: short functions, one type for one name."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from cpp_scanner import Function, Type, functions, types

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 70
CONTROL_FLOW = re.compile(r"\b(?:if|for|while|switch|do|try|goto)\b")


def is_table(function: Function) -> bool:
    """Rows and nothing else: however long, it is read from the top to the bottom."""
    return not CONTROL_FLOW.search(function.body)


def show(found: Function | Type) -> str:
    return f"{found.path}:{found.line}: {found.name}"


def test_no_cpp_function_is_longer_than_70_lines_but_for_tables():
    sources = [
        path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.[ch]pp")
    ]
    found = [function for path in sources for function in functions(path)]
    assert len(found) > 1000, "expected to find the core's functions; the scanner is lost"
    too_long = [function for function in found if function.line_count > MOST_LINES and not is_table(function)]
    assert not too_long, "split: " + ", ".join(f"{show(f)} ({f.line_count} lines)" for f in too_long)


def test_headers_of_one_namespace_define_no_two_types_of_one_name():
    found = [found for path in sorted((ROOT / "src").rglob("*.hpp")) for found in types(path)]
    assert len(found) > 100, "expected to find the core's types; the scanner is lost"
    by_name: dict[tuple[str, str], list[Type]] = defaultdict(list)
    for each in found:
        by_name[each.scope, each.name].append(each)
    twice = [" and ".join(map(show, same)) for same in by_name.values() if len(same) > 1]
    assert not twice, "rename one, or merge them: " + "; ".join(twice)


EXAMPLE = '''\
#define OPENS { \\
  if (x) {
// struct InAComment {
namespace some::where {
constexpr int kBig = 1'000'000;
const char* const kText = "struct InAText { }";
enum class Colour : int { red, green };
class Thing final : public Base<int> {
 public:
  Thing(int a, int b) : a_{a}, b_(b) { if (a) { b_ = 1; } }
  bool operator()(const Thing& other) const noexcept;
  struct Part { int a; };
 private:
  int a_{0}, b_ = [] { return 1; }();
};
template <typename T>
  requires std::integral<T>
auto twice(T value) -> std::vector<T> {
  struct Local { T t; };
  return {value, value};
}
const std::map<int, int> table{{1, 2}, {3, 4}};
struct Declared;
}  // namespace some::where
namespace {
struct OfThisFile {};
}
'''  # fmt: skip


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.hpp"
    path.write_text(EXAMPLE)
    return path


def test_the_scanner_finds_functions_with_their_lengths(example):
    found = functions(example)
    assert [(f.name, f.line, f.line_count) for f in found] == [("Thing", 10, 1), ("twice", 16, 6)]
    assert [is_table(f) for f in found] == [False, True]


def test_the_scanner_finds_types_with_their_scopes(example):
    found = {(t.scope, t.name) for t in types(example)}
    where = "some::where"
    assert found == {
        (where, "Colour"),
        (where, "Thing"),
        (f"{where}::Thing", "Part"),
        ("<local>", "OfThisFile"),
    }
