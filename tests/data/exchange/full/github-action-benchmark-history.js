window.BENCHMARK_DATA = {"lastUpdate": 1772370000000, "repoUrl": "https://example.com/o/r", "entries": {"Go": [
 {"commit": {"id": "abc123", "message": "m", "timestamp": "2026-03-01T12:00:00Z", "url": "u", "author": {"name": "a"}}, "date": 1772366400000, "tool": "go",
  "benches": [{"name": "BenchmarkSort", "value": 1250, "unit": "ns/op", "extra": "1000 times\n8 procs"}]}]}}
