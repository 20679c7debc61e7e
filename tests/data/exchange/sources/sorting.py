"""Made with: python3 -m pytest --benchmark-json=pytest.json test_sorting.py"""
import pytest


@pytest.mark.parametrize("count", [100, 1000])
def test_sort(benchmark, count):
    values = [(i * 7919) % 10007 for i in range(count)]
    assert benchmark.pedantic(sorted, args=(values,), rounds=15, iterations=4)[0] == 0


@pytest.mark.benchmark(group="text")
def test_join(benchmark):
    benchmark.pedantic(",".join, args=(["word"] * 100,), rounds=8, iterations=10)
